package config

// kraftKeys: Kafka without ZooKeeper: read and without effect in ZooKeeper mode, as in Kafka.
var kraftKeys = []Key{
	{"process.roles", List, "", nil, static, refused("kz is classic Kafka on ZooKeeper"), "Roles of a node in a cluster without ZooKeeper."},
	{"node.id", Int, "-1", nil, static, noEffect, "Number of a node in a cluster without ZooKeeper."},
	{"initial.broker.registration.timeout.ms", Int, "60000", nil, static, noEffect, "How long a new node waits for its registration."},
	{"broker.heartbeat.interval.ms", Int, "2000", nil, static, noEffect, "How often a node sends heartbeats to the quorum."},
	{"broker.session.timeout.ms", Int, "9000", nil, static, noEffect, "When the quorum counts a silent node as dead."},
	{"metadata.log.dir", String, null, nil, static, noEffect, "Directory of the metadata log."},
	{"controller.listener.names", String, null, nil, static, noEffect, "Listeners of the quorum."},
	{"sasl.mechanism.controller.protocol", String, "GSSAPI", nil, static, noEffect, "SASL mechanism towards the quorum."},
	{"controller.quorum.voters", List, "", nil, static, noEffect, "The voters, as id@host:port."},
	{"controller.quorum.election.timeout.ms", Int, "1000", nil, static, noEffect, "When a voter calls an election."},
	{"controller.quorum.fetch.timeout.ms", Int, "2000", nil, static, noEffect, "When a voter gives its leader up."},
	{"controller.quorum.election.backoff.max.ms", Int, "1000", nil, static, noEffect, "The longest wait between elections."},
	{"controller.quorum.append.linger.ms", Int, "25", nil, static, noEffect, "How long the leader gathers records."},
	{"controller.quorum.request.timeout.ms", Int, "2000", nil, static, noEffect, "How long a node waits for the quorum's answer."},
	{"controller.quorum.retry.backoff.ms", Int, "20", nil, static, noEffect, "The wait before a request is repeated."},
}
