// Package clustertest runs whole kz clusters for tests and checks what is left of them.
//
// What comes in: how many brokers, their server.properties, a ZooKeeper. What goes out: brokers
// that can be killed, stopped, frozen and cut off, a load whose every record has a name, and a
// verdict: which acknowledged records are lost, whether each partition kept its order, whether the
// replicas are equal to the byte, and who wrote what to ZooKeeper while which controller reigned.
//
// A cluster is made of processes (Processes: a kill is a kill) or of brokers in this process
// (InProcess: links can be cut and moments armed). The latter stands on a Ground: in virtual time over a
// network in memory, or over TCP, with the embedded ZooKeeper or with Apache's. The rule: nothing here is believed on kz's
// word alone. Records are produced and read by a client that knows nothing of kz, and the order of
// znode writes is read from ZooKeeper's own transaction log.
//
// Chaos: a Schedule is drawn from a seed (schedule.go) and done by a nemesis (deeds.go, plots.go) to a
// cluster in a bubble, under a load and a consumer; then the cluster must recover, and nine checks look
// at what is left (chaos.go, checks.go). KZ_SEEDS=7 replays a seed, KZ_SEEDS=1:10000 runs many. That the
// checks see anything is shown by mutants: each rule that package mutant can switch off is missed by the
// check that speaks of it.
package clustertest
