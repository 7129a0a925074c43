package config

import (
	"slices"
	"strings"
)

// Type is what a value must parse as. Mirrors ConfigDef.Type; the numbers are those of
// DescribeConfigs.
type Type int8

// The types.
const (
	Unknown  Type = 0
	Boolean  Type = 1
	String   Type = 2
	Int      Type = 3 // 32 bits
	Short    Type = 4 // 16 bits
	Long     Type = 5 // 64 bits
	Double   Type = 6
	List     Type = 7 // separated by commas
	Class    Type = 8 // the name of a Java class
	Password Type = 9 // never shown
)

var typeNames = [...]string{"UNKNOWN", "BOOLEAN", "STRING", "INT", "SHORT", "LONG", "DOUBLE", "LIST", "CLASS", "PASSWORD"}

// String is Kafka's name of the type.
func (t Type) String() string { return typeNames[t] }

// Serving is what kz does with a key that is set.
type Serving struct {
	kind servingKind
	why  string // refused: what would be broken
}

type servingKind int8

const (
	kindServed   servingKind = iota // it works as in Kafka
	kindNoEffect                    // checked and nothing else: there is nothing it could steer, here or in Kafka itself
	kindNotYet                      // checked, and named in one warning at start
	kindRefused                     // any value but the default is a fault
)

var (
	served   = Serving{kind: kindServed}
	noEffect = Serving{kind: kindNoEffect}
	notYet   = Serving{kind: kindNotYet}
)

func refused(why string) Serving { return Serving{kindRefused, why} }

// Whether a key can be changed while the broker runs (DynamicBrokerConfig).
const (
	static  = false
	dynamic = true
)

// null as a default: the key has none.
const null = "\x00"

// Key is one row of the tables. Mirrors ConfigDef.ConfigKey.
type Key struct {
	Name    string
	Type    Type
	def     string // null: no default
	valid   validator
	Dynamic bool
	Serving Serving
	Doc     string
}

// Default is the default as it would stand in a file; false when there is none.
func (k Key) Default() (string, bool) { return k.def, k.def != null }

// Sensitive says whether the value may be shown to nobody.
func (k Key) Sensitive() bool { return k.Type == Password }

// Range is what the value may be, for people.
func (k Key) Range() string {
	s := strings.ToLower(k.Type.String())
	if k.valid != nil {
		s += ", " + k.valid.rangeText()
	}
	return s
}

// Keys is every broker key of Kafka 2.8, by name.
var Keys = index(brokerKeys, logKeys, replicationKeys, coordinatorKeys, securityKeys, kraftKeys)

func index(tables ...[]Key) map[string]Key {
	m := map[string]Key{}
	for _, k := range slices.Concat(tables...) {
		m[k.Name] = k
	}
	return m
}

// Synonyms are the broker keys that say the same as name in other units, in order of
// precedence, name among them. Mirrors DynamicBrokerConfig.brokerConfigSynonyms.
func Synonyms(name string) []string {
	switch name {
	case "log.roll.ms", "log.roll.hours":
		return []string{"log.roll.ms", "log.roll.hours"}
	case "log.roll.jitter.ms", "log.roll.jitter.hours":
		return []string{"log.roll.jitter.ms", "log.roll.jitter.hours"}
	case "log.flush.interval.ms":
		return []string{"log.flush.interval.ms", "log.flush.scheduler.interval.ms"}
	case "log.retention.ms", "log.retention.minutes", "log.retention.hours":
		return []string{"log.retention.ms", "log.retention.minutes", "log.retention.hours"}
	}
	return []string{name}
}
