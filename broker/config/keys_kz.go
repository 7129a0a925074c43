package config

// ownKeys are kz's, not Kafka's: their names begin with "kz.". DescribeConfigs tells of
// them only when they are set, so that the list is Kafka's otherwise.
var ownKeys = index([]Key{
	{"kz.offsets.dual.commit", Boolean, "false", nil, static, served, "Also write every offset that is committed to __consumer_offsets into ZooKeeper, where old consumers kept theirs."},
})

// Lookup finds a broker key, Kafka's or ours.
func Lookup(name string) (Key, bool) {
	if k, ok := Keys[name]; ok {
		return k, true
	}
	k, ok := ownKeys[name]
	return k, ok
}
