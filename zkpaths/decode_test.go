package zkpaths

import (
	"errors"
	"reflect"
	"testing"
)

func TestDecodersReadWhatOlderAndNewerKafkasWrite(t *testing.T) {
	for _, row := range []struct {
		rule string
		got  func() (any, error)
		want any
	}{
		// Ref: Kafka 2.8 BrokerIdZNode.decode
		{"broker v1 (0.8): one PLAINTEXT endpoint", func() (any, error) {
			return DecodeBrokerInfo([]byte(`{"version":1,"host":"h","port":9092,"jmx_port":9999,"timestamp":"22"}`))
		}, BrokerInfo{Version: 1, Host: "h", Port: 9092, JMXPort: 9999, Timestamp: 22,
			Endpoints: []Endpoint{{"PLAINTEXT", "h", 9092}}, SecurityMap: map[string]string{"PLAINTEXT": "PLAINTEXT"}}},
		{"broker v2: the listener is named after its protocol; v5: features are ignored", func() (any, error) {
			return DecodeBrokerInfo([]byte(`{"features":{"f":{"min_version":1}},"version":2,"host":null,"port":-1,"jmx_port":-1,"timestamp":"x","endpoints":["ssl://[::1]:9093"],"rack":"r"}`))
		}, BrokerInfo{Version: 2, Port: -1, JMXPort: -1, Rack: "r",
			Endpoints: []Endpoint{{"SSL", "::1", 9093}}, SecurityMap: map[string]string{"SSL": "SSL"}}},
		// Ref: Kafka 3.9 ControllerZNode.encode
		{"controller v2 (3.4)", func() (any, error) {
			return DecodeControllerInfo([]byte(`{"version":2,"brokerid":7,"timestamp":"5","kraftControllerEpoch":-1}`))
		}, ControllerInfo{BrokerID: 7, Timestamp: 5}},
		// Ref: Kafka 2.8 TopicZNode.decode
		{"topic v1 (0.8): no adding, no removing", func() (any, error) {
			return DecodeTopicAssignment([]byte(`{"version":1,"partitions":{"0":[1,2]}}`))
		}, TopicAssignment{Partitions: map[int32][]int32{0: {1, 2}}, Adding: map[int32][]int32{}, Removing: map[int32][]int32{}}},
		{"topic v3 with an id", func() (any, error) {
			return DecodeTopicAssignment([]byte(`{"partitions":{},"topic_id":"x_oECR_rT6uGoWuuHulV7A","future":[],"version":3}`))
		}, TopicAssignment{TopicID: "x_oECR_rT6uGoWuuHulV7A", Partitions: map[int32][]int32{}, Adding: map[int32][]int32{}, Removing: map[int32][]int32{}}},
		{"state of 3.2 has a recovery state", func() (any, error) {
			return DecodePartitionState([]byte(`{"leader":-1,"isr":[],"leader_recovery_state":1,"leader_epoch":2,"controller_epoch":3,"version":1} trailing`))
		}, PartitionState{Leader: -1, LeaderEpoch: 2, ControllerEpoch: 3, ISR: []int32{}}},
		// Ref: Kafka 2.8 DynamicConfigManager.ConfigChangedNotificationHandler
		{"config change v1 (0.9)", func() (any, error) {
			return DecodeConfigChange([]byte(`{"version":1,"entity_type":"topics","entity_name":"t"}`))
		}, "topics/t"},
		{"config: null data is no override", func() (any, error) { return DecodeEntityConfig(nil) }, map[string]string{}},
		{"config: a list is no override", func() (any, error) { return DecodeEntityConfig([]byte(`{"config":[1]}`)) }, map[string]string{}},
		{"of a duplicate key the last wins", func() (any, error) {
			return DecodeLogDirEvent([]byte(`{"broker":1,"broker":2,"event":1}`))
		}, int32(2)},
	} {
		t.Run(row.rule, func(t *testing.T) {
			got, err := row.got()
			if err != nil {
				t.Fatal(err)
			}
			if !reflect.DeepEqual(got, row.want) {
				t.Errorf("\n got %+v\nwant %+v", got, row.want)
			}
		})
	}
}

func TestDecodersRefuse(t *testing.T) {
	first := func(_ any, err error) error { return err }
	for rule, err := range map[string]error{
		"a broker without endpoints":               first(DecodeBrokerInfo([]byte(`{"version":4,"jmx_port":-1}`))),
		"a broker version below 1":                 first(DecodeBrokerInfo([]byte(`{"version":0,"jmx_port":-1}`))),
		"an unknown security protocol":             first(DecodeBrokerInfo([]byte(`{"version":4,"jmx_port":-1,"endpoints":["A://h:1"],"listener_security_protocol_map":{"B":"SSL"}}`))),
		"an endpoint without port":                 first(DecodeBrokerInfo([]byte(`{"version":4,"jmx_port":-1,"endpoints":["PLAINTEXT://h"]}`))),
		"a key in other case":                      first(DecodeControllerInfo([]byte(`{"BrokerID":1}`))),
		"a null replica":                           first(DecodeTopicAssignment([]byte(`{"partitions":{"0":[null]}}`))),
		"a partition that is no number":            first(DecodeTopicAssignment([]byte(`{"partitions":{"a":[1]}}`))),
		"a leader that is no integer":              first(DecodePartitionState([]byte(`{"leader":1.5,"isr":[],"leader_epoch":2,"controller_epoch":3}`))),
		"a number where a string belongs":          first(DecodeEntityConfig([]byte(`{"config":{"a":1}}`))),
		"config change version 3":                  first(DecodeConfigChange([]byte(`{"version":3}`))),
		"config change v1 of users":                first(DecodeConfigChange([]byte(`{"version":1,"entity_type":"users","entity_name":"t"}`))),
		"a path without type":                      first(DecodeConfigChange([]byte(`{"version":2,"entity_path":"topics"}`))),
		"an epoch that is JSON":                    first(DecodeControllerEpoch([]byte(`{"epoch":1}`))),
		"reassignment: an unknown key at the top":  first(DecodeReassignments([]byte(`{"version":1,"partitions":[],"x":1}`))),
		"reassignment: an unknown key in an entry": first(DecodeReassignments([]byte(`{"version":1,"partitions":[{"topic":"t","partition":0,"replicas":[1],"log_dirs":[]}]}`))),
		"reassignment: no JSON":                    first(DecodeReassignments([]byte(`go`))),
		"feature status 2":                         first3(DecodeFeature([]byte(`{"features":{},"version":1,"status":2}`))),
	} {
		if err == nil {
			t.Errorf("%s was accepted", rule)
		}
	}
	if _, err := DecodeConfigChange([]byte(`"test"`)); !errors.Is(err, ErrNotJSON) {
		t.Errorf("0.8's config change must be told apart, got %v", err)
	}
}

func first3(_, _ any, err error) error { return err }

// Ref: Jackson's default escapes, which Kafka's Json.encodeAsBytes uses.
func TestStringsAreEscapedAsJacksonDoes(t *testing.T) {
	got := string((&writer{}).str("a\"\\/<\b\t\n\f\r\x01é😀\xff").buf)
	if want := `"a\"\\/<\b\t\n\f\r\u0001é😀` + "\uFFFD" + `"`; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

func TestBrokerInfoWithRackAndTwoListeners(t *testing.T) {
	// Golden step 90, and step 91 for the null host.
	b := BrokerInfo{Version: 4, Host: "h", Port: 1, JMXPort: -1, Timestamp: 5, Rack: "r1",
		Endpoints:   []Endpoint{{"PLAINTEXT", "h", 1}, {"EXTRA", "::1", 2}},
		SecurityMap: map[string]string{"PLAINTEXT": "PLAINTEXT", "EXTRA": "PLAINTEXT"}}
	want := `{"listener_security_protocol_map":{"PLAINTEXT":"PLAINTEXT","EXTRA":"PLAINTEXT"},"endpoints":["PLAINTEXT://h:1","EXTRA://[::1]:2"],"rack":"r1","jmx_port":-1,"port":1,"host":"h","version":4,"timestamp":"5"}`
	if got := string(b.Encode()); got != want {
		t.Errorf("\n got %s\nwant %s", got, want)
	}
}
