package zkpaths

import (
	"fmt"
	"net"
	"regexp"
	"strconv"
	"strings"
)

// Endpoint is where a listener is reached.
type Endpoint struct {
	Listener string
	Host     string // "" = unset
	Port     int32
}

// String is the endpoint as Kafka prints it: LISTENER://host:port, IPv6 in brackets.
func (e Endpoint) String() string {
	if e.Host == "" {
		return e.Listener + "://:" + itoa(e.Port)
	}
	return e.Listener + "://" + net.JoinHostPort(e.Host, itoa(e.Port))
}

var endpointPattern = regexp.MustCompile(`^(.*)://\[?([0-9a-zA-Z\-%._:]*)\]?:(-?[0-9]+)$`)

// ParseEndpoint reads LISTENER://host:port; the listener's name is made upper case.
func ParseEndpoint(s string) (Endpoint, error) {
	m := endpointPattern.FindStringSubmatch(s)
	if m == nil {
		return Endpoint{}, fmt.Errorf("unable to parse %q as LISTENER://host:port", s)
	}
	port, err := strconv.ParseInt(m[3], 10, 32)
	if err != nil {
		return Endpoint{}, fmt.Errorf("port of %q: %w", s, err)
	}
	return Endpoint{Listener: strings.ToUpper(m[1]), Host: m[2], Port: int32(port)}, nil
}

// BrokerInfo is the data of /brokers/ids/<id>, one ephemeral node per live broker. The
// node's czxid is the broker epoch; its data version is 1, because it is created empty
// and then set in the same multi. Mirrors kafka.zk.BrokerIdZNode.
//
//	written by  the broker itself, at start and after each session expiry
//	guarded by  its session; a second process with the same id gets NODEEXISTS
//	watched by  the controller (children of /brokers/ids, data of each id)
//
//	{"listener_security_protocol_map":{"PLAINTEXT":"PLAINTEXT"},"endpoints":["PLAINTEXT://host1:9092"],"jmx_port":-1,"port":9092,"host":"host1","version":4,"timestamp":"1625336133848"}
//
// With broker.rack set, "rack":"r1" comes after endpoints. Version 5 (protocol 2.7 and
// later) begins with "features":{}.
type BrokerInfo struct {
	Version     int               // we write 4 (protocol 2.6); readers accept 1 and above
	Host        string            // of the first PLAINTEXT endpoint; "" = null: there is none
	Port        int32             // likewise; -1 = none
	Endpoints   []Endpoint        // advertised, in order
	SecurityMap map[string]string // listener -> PLAINTEXT, SSL, SASL_PLAINTEXT, SASL_SSL
	Rack        string            // "" = absent
	JMXPort     int32             // -1 = none
	Timestamp   int64             // epoch ms of the registration; nobody reads it
}

// Encode writes version 4, or 5 when Version says so.
func (b BrokerInfo) Encode() []byte {
	w := &writer{}
	w.raw("{")
	if b.Version >= 5 {
		w.raw(`"features":{},`)
	}
	w.raw(`"listener_security_protocol_map":`)
	dict(w, scalaTrieOrder(b.listeners()), func(l string) { w.str(b.SecurityMap[l]) })
	w.raw(`,"endpoints":`)
	list(w, b.Endpoints, func(e Endpoint) { w.str(e.String()) })
	if b.Rack != "" {
		w.raw(`,"rack":`).str(b.Rack)
	}
	w.raw(`,"jmx_port":`).num(int64(b.JMXPort)).raw(`,"port":`).num(int64(b.Port)).raw(`,"host":`)
	if b.Host == "" {
		w.raw("null")
	} else {
		w.str(b.Host)
	}
	w.raw(`,"version":`).num(int64(b.Version))
	w.raw(`,"timestamp":"`).num(b.Timestamp).raw(`"}`)
	return w.buf
}

// listeners are the distinct listener names in the order of the endpoints.
func (b BrokerInfo) listeners() []string {
	seen := map[string]bool{}
	var names []string
	for _, e := range b.Endpoints {
		if !seen[e.Listener] {
			seen[e.Listener] = true
			names = append(names, e.Listener)
		}
	}
	return names
}

// DecodeBrokerInfo reads versions 1 (0.8) to 5 and above. Version 1 has one PLAINTEXT
// endpoint, made from host and port; version 2 and 3 have no protocol map: there the
// listener is named after its protocol.
func DecodeBrokerInfo(data []byte) (BrokerInfo, error) {
	b, err := decodeBrokerInfo(data)
	if err != nil {
		return BrokerInfo{}, fmt.Errorf("broker registration: %w", err)
	}
	return b, nil
}

func decodeBrokerInfo(data []byte) (b BrokerInfo, err error) {
	o, err := parseObject(data)
	if err != nil {
		return b, err
	}
	if b.Version, err = get[int](o, "version"); err != nil {
		return b, err
	}
	if b.Version < 1 {
		return b, fmt.Errorf("unsupported version %d", b.Version)
	}
	if b.JMXPort, err = get[int32](o, "jmx_port"); err != nil {
		return b, err
	}
	if b.Host, err = getOr(o, "host", ""); err != nil {
		return b, err
	}
	if b.Port, err = getOr(o, "port", int32(-1)); err != nil {
		return b, err
	}
	if b.Rack, err = getOr(o, "rack", ""); err != nil {
		return b, err
	}
	if ts, err := getOr(o, "timestamp", ""); err == nil {
		b.Timestamp, _ = strconv.ParseInt(ts, 10, 64) // nobody reads it: a bad one is no fault
	}
	return b, b.decodeEndpoints(o)
}

func (b *BrokerInfo) decodeEndpoints(o object) error {
	if b.Version == 1 {
		if b.Host == "" || b.Port < 0 {
			return fmt.Errorf("version 1 without host and port")
		}
		b.Endpoints = []Endpoint{{Listener: "PLAINTEXT", Host: b.Host, Port: b.Port}}
		b.SecurityMap = map[string]string{"PLAINTEXT": "PLAINTEXT"}
		return nil
	}
	protocols, err := getOr[map[string]string](o, "listener_security_protocol_map", nil)
	if err != nil {
		return err
	}
	texts, err := get[[]string](o, "endpoints")
	if err != nil {
		return err
	}
	b.SecurityMap = map[string]string{}
	for _, text := range texts {
		e, err := ParseEndpoint(text)
		if err != nil {
			return err
		}
		protocol := e.Listener
		if protocols != nil {
			protocol = protocols[e.Listener]
		}
		protocol = strings.ToUpper(protocol)
		switch protocol {
		case "PLAINTEXT", "SSL", "SASL_PLAINTEXT", "SASL_SSL":
		default:
			return fmt.Errorf("listener %s has no known security protocol", e.Listener)
		}
		b.SecurityMap[e.Listener] = protocol
		b.Endpoints = append(b.Endpoints, e)
	}
	return nil
}
