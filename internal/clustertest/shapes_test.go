package clustertest_test

import (
	"testing"

	"kz/internal/clustertest"
)

// Two kinds that wrote the same JSON about different partitions are alike; another order of the keys is
// not.
func TestShapesSeeOrderAndNotNumbers(t *testing.T) {
	const state = "/brokers/topics/a/partitions/0/state"
	write := func(session int64, path, data string) clustertest.Txn {
		return clustertest.Txn{Session: session, Type: "set", Path: path, Data: []byte(data)}
	}
	txns := []clustertest.Txn{
		{Session: 1, Type: "create", Path: "/brokers/ids/1", Ephem: true},
		{Session: 2, Type: "create", Path: "/brokers/ids/2", Ephem: true},
		write(1, state, `{"controller_epoch":1,"leader":2,"version":1,"leader_epoch":5,"isr":[2,3]}`),
		write(2, "/brokers/topics/b/partitions/7/state", `{"controller_epoch":12,"leader":-1,"version":1,"leader_epoch":0,"isr":[1]}`),
		write(3, state, `a tool, which is of no kind`),
	}
	kinds := map[int32]clustertest.Kind{1: clustertest.KZ, 2: clustertest.Kafka}
	if n, unlike := clustertest.UnlikeShapes(clustertest.Shapes(txns, kinds)); n != 2 || len(unlike) != 0 {
		t.Errorf("%d acts alike, unlike %v; want the registration and the state", n, unlike)
	}
	txns = append(txns, write(2, state, `{"leader":2,"controller_epoch":1,"version":1,"leader_epoch":5,"isr":[2,3]}`))
	if _, unlike := clustertest.UnlikeShapes(clustertest.Shapes(txns, kinds)); len(unlike) != 1 {
		t.Errorf("keys in another order: unlike %v", unlike)
	}
}
