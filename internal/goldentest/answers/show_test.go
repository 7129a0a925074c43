package answers

import (
	"bytes"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"reflect"
	"sort"
	"strings"
	"unicode/utf8"

	"github.com/twmb/franz-go/pkg/kmsg"

	"kz/internal/kafkaerr"
)

// dump shows the fields an answer carried on the wire in its version.
func (t *T) dump(resp kmsg.Response) obj {
	on := presence(resp.Key(), resp.GetVersion())
	return t.dumpStruct(reflect.ValueOf(resp).Elem(), "", on, resp.Key())
}

var hidden = map[string]bool{"Version": true, "UnknownTags": true, "ThrottleMillis": true, "ZkMigrationReady": true}

// volatile numbers: shown as the placeholder unless -1 or 0.
var volatile = map[string]string{
	"LogAppendTime": "TIME", "SessionID": "SESSION", "ExpiryTimestampMillis": "TIME", "FinalizedFeaturesEpoch": "EPOCH", "BrokerEpoch": "EPOCH",
	"LastTimestamp": "TIME",
}

func (t *T) dumpStruct(v reflect.Value, path string, on map[string]bool, key int16) obj {
	var o obj
	for i := 0; i < v.NumField(); i++ {
		name := v.Type().Field(i).Name
		p := path + "." + name
		if hidden[name] || on != nil && !on[p] {
			continue
		}
		o = append(o, kv{name, t.dumpValue(v.Field(i), name, p, on, key)})
	}
	return o
}

func (t *T) dumpValue(v reflect.Value, name, path string, on map[string]bool, key int16) any {
	switch v.Kind() {
	case reflect.Struct:
		return t.dumpStruct(v, path, on, key)
	case reflect.Pointer:
		if v.IsNil() {
			return nil
		}
		return t.dumpValue(v.Elem(), name, path, on, key)
	case reflect.Slice:
		if v.IsNil() {
			if on != nil && !on[path+"?"] && v.Type().Elem().Kind() == reflect.Uint8 {
				return ""
			}
			if on != nil && !on[path+"?"] {
				return []any{} // kmsg decodes an empty array that cannot be null to nil
			}
			return nil
		}
		if v.Type().Elem().Kind() == reflect.Uint8 {
			if name == "RecordBatches" {
				return t.showRecords(v.Bytes())
			}
			return showBytes(t, v.Bytes())
		}
		list := []any{}
		for i := 0; i < v.Len(); i++ {
			if !t.foreign(v.Index(i), key) {
				list = append(list, t.dumpValue(v.Index(i), name, path, on, key))
			}
		}
		if k := v.Type().Elem().Kind(); !t.keepOrder && key != 18 && name != "ConfigSynonyms" && v.Len() > 1 && (k == reflect.Struct || k == reflect.String) {
			sortByText(list)
		}
		return list
	case reflect.String:
		if name == "ClusterID" {
			return "CLUSTER"
		}
		if name == "Dir" {
			return "DIR"
		}
		s := v.String()
		if name == "Host" || name == "ClientHost" {
			return t.plain(s)
		}
		return t.plain(s)
	case reflect.Array:
		if v.IsZero() {
			return "zero"
		}
		return "TOPIC-ID"
	case reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
		n := v.Int()
		if name == "ErrorCode" {
			return errorName(int16(n))
		}
		if name == "ErrorCodes" {
			return errorName(int16(n))
		}
		if name == "ControllerID" && n >= 0 {
			return "CONTROLLER"
		}
		if name == "ProducerID" && n >= 0 {
			for _, k := range sortedKeys(t.vars) {
				if t.vars[k] == fmt.Sprint(n) {
					return "$" + k
				}
			}
			return "PRODUCER-ID"
		}
		if key == 10 && name == "NodeID" && n >= 0 {
			return "COORDINATOR"
		}
		if name == "Port" && n > 0 {
			for id, hp := range t.env.address {
				if strings.HasSuffix(hp, fmt.Sprintf(":%d", n)) {
					if key == 10 {
						return "PORT"
					}
					return fmt.Sprintf("PORT-%d", id)
				}
			}
		}
		if word, ok := volatile[name]; ok && n > 0 {
			return word
		}
		return n
	case reflect.Float64:
		return v.Float()
	}
	return v.Interface()
}

// foreign tells topics and groups of other cases and runs.
func (t *T) foreign(v reflect.Value, key int16) bool {
	if v.Kind() != reflect.Struct {
		return false
	}
	for _, n := range []string{"Topic", "Group", "TransactionalID"} {
		f := v.FieldByName(n)
		if f.IsValid() && f.Kind() == reflect.Pointer {
			f = f.Elem()
		}
		if !f.IsValid() || f.Kind() != reflect.String || !strings.HasPrefix(f.String(), "ans") && key != 35 {
			continue // DescribeLogDirs (35) lists every topic of the broker
		}
		own := false
		for _, x := range t.vars {
			own = own || strings.HasPrefix(f.String(), x) && len(x) > 6
		}
		return !own
	}
	return false
}

func sortedKeys(m map[string]string) []string {
	k := make([]string, 0, len(m))
	for x := range m {
		k = append(k, x)
	}
	sort.Strings(k)
	return k
}

func sortByText(list []any) {
	text := make(map[int]string, len(list))
	idx := make([]int, len(list))
	for i, x := range list {
		b, _ := json.Marshal(x)
		text[i], idx[i] = string(b), i
		if o, ok := x.(obj); ok {
			for _, f := range o {
				if n, ok := f.v.(int64); ok && f.k == "Partition" {
					text[i] = fmt.Sprintf("%010d", n)
				}
			}
		}
	}
	sort.SliceStable(idx, func(a, b int) bool { return text[idx[a]] < text[idx[b]] })
	out := make([]any, len(list))
	for i, j := range idx {
		out[i] = list[j]
	}
	copy(list, out)
}

func showBytes(t *T, b []byte) string {
	if utf8.Valid(b) && !bytes.ContainsAny(b, "\x00\x01\x02\x03\x04\x05\x06\x07\x08") {
		return t.plain(string(b))
	}
	return "hex " + hex.EncodeToString(b)
}

// obj is a JSON object that keeps its order.
type obj []kv
type kv struct {
	k string
	v any
}

func (o obj) MarshalJSON() ([]byte, error) {
	var b bytes.Buffer
	b.WriteByte('{')
	for i, f := range o {
		if i > 0 {
			b.WriteByte(',')
		}
		fmt.Fprintf(&b, "%q:", f.k)
		var v bytes.Buffer
		enc := json.NewEncoder(&v)
		enc.SetEscapeHTML(false)
		if err := enc.Encode(f.v); err != nil {
			return nil, err
		}
		b.Write(bytes.TrimRight(v.Bytes(), "\n"))
	}
	b.WriteByte('}')
	return b.Bytes(), nil
}

func errorName(code int16) string { return kafkaerr.Code(code).Name() }
