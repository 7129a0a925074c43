package config

import (
	"maps"
	"strconv"
	"strings"
)

// Value is the effective value of a broker key as text, as DescribeConfigs shows it;
// false when it has neither a value nor a default. Mirrors ConfigDef.convertToString.
func (c *Config) Value(key string) (string, bool) {
	v, ok := c.values[key]
	if !ok {
		return "", false
	}
	return show(v), true
}

// show writes a parsed value: numbers without decoration, lists with commas, doubles as Java does.
func show(v any) string {
	switch x := v.(type) {
	case bool:
		return strconv.FormatBool(x)
	case int16:
		return strconv.Itoa(int(x))
	case int32:
		return strconv.Itoa(int(x))
	case int64:
		return strconv.FormatInt(x, 10)
	case float64:
		return javaDouble(x)
	case []string:
		return strings.Join(x, ",")
	}
	return v.(string)
}

// javaDouble is Double.toString: plain with a decimal point between 10^-3 and 10^7, else scientific.
func javaDouble(f float64) string {
	if a := max(f, -f); a == 0 || a >= 1e-3 && a < 1e7 {
		s := strconv.FormatFloat(f, 'f', -1, 64)
		if !strings.Contains(s, ".") {
			s += ".0"
		}
		return s
	}
	mantissa, exponent, _ := strings.Cut(strconv.FormatFloat(f, 'E', -1, 64), "E")
	if !strings.Contains(mantissa, ".") {
		mantissa += ".0"
	}
	n, err := strconv.Atoi(exponent)
	if err != nil {
		return strconv.FormatFloat(f, 'E', -1, 64) // NaN, Inf
	}
	return mantissa + "E" + strconv.Itoa(n)
}

// TopicValue is the effective value of a topic key as text: the override, or what the
// broker's keys give. An override that does not parse counts as absent.
func (c *Config) TopicValue(k TopicKey, overrides map[string]string) string {
	if text, ok := overrides[k.Name]; ok {
		if v, err := k.parse(text); err == nil {
			return show(v)
		}
	}
	switch k.Name { // keys whose broker side may be set in other units
	case "flush.ms":
		return show(c.LogDefaults.FlushMs)
	case "retention.ms":
		return show(c.LogDefaults.RetentionMs)
	case "segment.jitter.ms":
		return show(c.LogDefaults.SegmentJitterMs)
	case "segment.ms":
		return show(c.LogDefaults.SegmentMs)
	}
	if text, ok := c.Value(k.BrokerKey); ok {
		return text
	}
	text, _ := k.Default()
	return text
}

// WithDynamic is the Config as it would be had the dynamic keys stood in the file: per
// broker over the cluster's default over the file. Unknown keys and keys that are not
// dynamic are passed over, as in Kafka; a value that does not fit is an error that
// names it. The receiver is not changed.
func (c *Config) WithDynamic(clusterDefault, perBroker map[string]string) (*Config, error) {
	props := maps.Clone(c.static)
	for _, m := range []map[string]string{clusterDefault, perBroker} {
		for key, value := range m {
			if Keys[key].Dynamic {
				props[key] = value
			}
		}
	}
	next, _, err := Parse(props)
	if err != nil {
		return nil, err
	}
	next.static = c.static
	next.SetBrokerID(c.BrokerID)
	return next, nil
}
