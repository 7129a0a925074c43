// Package topic holds the identity of a partition and the rules of topic names.
// Every room speaks of partitions in these terms; it imports only kafkaerr.
package topic

import (
	"fmt"
	"strconv"
	"strings"
	"unicode/utf16"
	"unicode/utf8"

	"kz/internal/kafkaerr"
)

// A Partition names one partition of one topic. It is comparable and so serves as
// a map key. Mirrors org.apache.kafka.common.TopicPartition.
type Partition struct {
	Topic     string
	Partition int32 // 0 or greater
}

// String is Kafka's form, which is also the name of the log directory: orders-0.
func (p Partition) String() string { return p.Topic + "-" + strconv.Itoa(int(p.Partition)) }

// Compare orders by topic, then by number.
func (p Partition) Compare(o Partition) int {
	if c := strings.Compare(p.Topic, o.Topic); c != 0 {
		return c
	}
	return int(p.Partition) - int(o.Partition)
}

// JavaHash is java.lang.String.hashCode: over UTF-16 units.
func JavaHash(s string) int32 {
	var h int32
	for _, r := range s {
		if high, low := utf16.EncodeRune(r); high != utf8.RuneError {
			h = 31*h + high
			r = low
		}
		h = 31*h + r
	}
	return h
}

// JavaAbs is org.apache.kafka.common.utils.Utils.abs: the smallest number, which has no
// absolute value, counts as 0.
func JavaAbs(n int32) int32 {
	if n < 0 {
		return max(-n, 0)
	}
	return n
}

// The topics that belong to the brokers themselves. Mirrors
// org.apache.kafka.common.internals.Topic.
const (
	ConsumerOffsets  = "__consumer_offsets"
	TransactionState = "__transaction_state"
)

// IsInternal says whether only brokers may write to the topic.
func IsInternal(name string) bool { return name == ConsumerOffsets || name == TransactionState }

// MaxNameLength is the longest legal topic name, in bytes.
const MaxNameLength = 249

// ValidateName refuses names Kafka refuses, with INVALID_TOPIC_EXCEPTION and the
// message that its clients show.
func ValidateName(name string) error {
	bad := func(format string, args ...any) error {
		return kafkaerr.New(kafkaerr.InvalidTopicException, fmt.Sprintf(format, args...))
	}
	switch {
	case name == "":
		return bad("Topic name is illegal, it can't be empty")
	case name == "." || name == "..":
		return bad("Topic name cannot be \".\" or \"..\"")
	case len(name) > MaxNameLength:
		return bad("Topic name is illegal, it can't be longer than %d characters, topic name: %s", MaxNameLength, name)
	}
	for i := 0; i < len(name); i++ {
		if !legal(name[i]) {
			return bad("Topic name \"%s\" is illegal, it contains a character other than ASCII alphanumerics, '.', '_' and '-'", name)
		}
	}
	return nil
}

func legal(c byte) bool {
	return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || c == '.' || c == '_' || c == '-'
}

// HasCollisionChars says whether the name holds '.' or '_', which metric names do
// not tell apart.
func HasCollisionChars(name string) bool { return strings.ContainsAny(name, "._") }

// Collide says whether two different names would share metric names.
func Collide(a, b string) bool {
	return a != b && strings.ReplaceAll(a, ".", "_") == strings.ReplaceAll(b, ".", "_")
}
