package wire

import (
	"fmt"
	"strings"

	"github.com/twmb/franz-go/pkg/kmsg"

	"kz/internal/link"
)

// The api keys that this package or the network must know by number. All others are
// only rows of tables.
const (
	keyControlledShutdown = 7
	keyApiVersions        = 18
)

// VersionRange is one row of the table of versions, pinned to what Kafka 2.8 advertises.
type VersionRange struct{ Key, Min, Max int16 }

// Contains says whether version is one of the row's.
func (r VersionRange) Contains(version int16) bool { return r.Min <= version && version <= r.Max }

// served is ascending by key, as ApiVersions lists it. Upper bounds are Kafka 2.8's, of
// every row; kmsg itself goes higher. Lower bounds above 0 (Produce, Fetch, ListOffsets)
// leave out the versions that speak record formats 0 and 1.
var served = []VersionRange{
	{0, 3, 9},  // Produce
	{1, 4, 12}, // Fetch
	{2, 1, 6},  // ListOffsets
	{3, 0, 11}, // Metadata
	{4, 0, 5},  // LeaderAndIsr
	{5, 0, 3},  // StopReplica
	{6, 0, 7},  // UpdateMetadata
	{7, 0, 3},  // ControlledShutdown
	{8, 0, 8},  // OffsetCommit
	{9, 0, 7},  // OffsetFetch
	{10, 0, 3}, // FindCoordinator
	{11, 0, 7}, // JoinGroup
	{12, 0, 4}, // Heartbeat
	{13, 0, 4}, // LeaveGroup
	{14, 0, 5}, // SyncGroup
	{15, 0, 5}, // DescribeGroups
	{16, 0, 4}, // ListGroups
	{17, 0, 1}, // SaslHandshake
	{18, 0, 3}, // ApiVersions
	{19, 0, 7}, // CreateTopics
	{23, 0, 4}, // OffsetForLeaderEpoch
	{32, 0, 4}, // DescribeConfigs
	{36, 0, 2}, // SaslAuthenticate
	{37, 0, 3}, // CreatePartitions
	{42, 0, 2}, // DeleteGroups
	{47, 0, 0}, // OffsetDelete
	{60, 0, 0}, // DescribeCluster
}

// Served is the table of the APIs this broker advertises, ascending by key. What is not
// here is not advertised and closes the connection. The slice is the caller's own.
func Served() []VersionRange { return append([]VersionRange(nil), served...) }

// Lookup finds a row of Served.
func Lookup(key int16) (VersionRange, bool) {
	for _, r := range served {
		if r.Key == key {
			return r, true
		}
	}
	return VersionRange{}, false
}

// What flexibleFrom says besides a version.
const (
	neverFlexible = -1
	notAnAPI      = -2
)

// flexibleFrom[key] is the first version of an API whose header and body have tag
// sections (KIP-482). It is asked of kmsg once, so that no header costs a throw-away
// request.
var flexibleFrom = func() (t [kmsg.MaxKey + 1]int16) {
	for key := range t {
		req := kmsg.RequestForKey(int16(key))
		if req == nil {
			t[key] = notAnAPI
			continue
		}
		t[key] = neverFlexible
		for v := range req.MaxVersion() + 1 {
			if req.SetVersion(v); req.IsFlexible() {
				t[key] = v
				break
			}
		}
	}
	return t
}()

// knownKey says whether key is an API of Kafka at all, served here or not.
func knownKey(key int16) bool {
	return 0 <= key && key <= kmsg.MaxKey && flexibleFrom[key] != notAnAPI
}

// flexible says whether that version of a known API is a flexible one. A version that is
// too new counts: the header of an ApiVersions request from the future must parse.
func flexible(key, version int16) bool {
	return knownKey(key) && flexibleFrom[key] >= 0 && version >= flexibleFrom[key]
}

// APIName is Kafka's name of an api key, for logs: "Fetch", "api key 99".
func APIName(key int16) string {
	if !knownKey(key) {
		return fmt.Sprintf("api key %d", key)
	}
	return kafkaSpelling.Replace(kmsg.NameForKey(key))
}

// kafkaSpelling: kmsg writes LeaderAndISR where Kafka 2.8 writes LeaderAndIsr.
var kafkaSpelling = strings.NewReplacer("ISR", "Isr", "SASL", "Sasl", "ACLs", "Acls", "SCRAM", "Scram", "ProducerID", "ProducerId",
	"PartitionAssignments", "PartitionReassignments")

// KeyForName finds an API by its name in any case: "fetch" is 1.
func KeyForName(name string) (int16, bool) {
	for key := range int16(kmsg.MaxKey + 1) {
		if knownKey(key) && strings.EqualFold(name, APIName(key)) {
			return key, true
		}
	}
	return 0, false
}

// DropFor reads what a fault is told to drop, by Kafka's name of the message:
// "FetchResponse" means the answers of Fetch.
func DropFor(message string, count int) (link.Drop, error) {
	api, answer := strings.CutSuffix(message, "Response")
	if !answer {
		api = strings.TrimSuffix(message, "Request")
	}
	key, ok := KeyForName(api)
	if !ok || api == message {
		return link.Drop{}, fmt.Errorf("%q is no message of Kafka's: write the API and Request or Response, such as FetchResponse", message)
	}
	return link.Drop{Key: key, API: APIName(key), Answer: answer, Count: count}, nil
}
