package answers

import (
	"fmt"
	"strings"

	"github.com/twmb/franz-go/pkg/kmsg"
)

func registerCluster() {
	add("cluster/describe", func(t *T) {
		t.conn("leader").do("DescribeCluster", 0, `{"IncludeClusterAuthorizedOperations":false}`)
		t.conn("not the controller").do("DescribeCluster", 0, `{"IncludeClusterAuthorizedOperations":true}`)
	})
}

func registerController() {
	// The real epoch of the controller is found by asking with rising epochs and nothing in the request.
	epoch := func(t *T) {
		for e := 1; ; e++ {
			t.set("epoch", e)
			r := t.conn("leader").send("LeaderAndIsr", 2, `{"ControllerID":1,"ControllerEpoch":$epoch,"BrokerEpoch":-1}`).quiet().(*kmsg.LeaderAndISRResponse)
			if r.ErrorCode == 0 {
				return
			}
		}
	}
	brokers := func(t *T) string {
		var l []string
		for id := int32(1); id <= 3; id++ {
			host, port, _ := strings.Cut(t.env.address[id], ":")
			l = append(l, fmt.Sprintf(`{"ID":%d,"Host":"%s","Port":%s,"Endpoints":[{"Port":%s,"Host":"%s","ListenerName":"PLAINTEXT","SecurityProtocol":0}]}`, id, host, port, port, host))
		}
		t.vars["live"] = strings.Join(l, ",")
		return t.vars["live"]
	}
	versions("LeaderAndIsr", 5, func(t *T, v int16) {
		epoch(t)
		t.set("controller", t.env.controller())
		c := t.conn("leader")
		c.do("LeaderAndIsr", v, `{"ControllerID":$controller,"ControllerEpoch":$epoch,"BrokerEpoch":-1,"Type":1}`)
		c.do("LeaderAndIsr", v, `{"ControllerID":$controller,"ControllerEpoch":0,"BrokerEpoch":-1,"Type":1}`)
	})
	versions("StopReplica", 3, func(t *T, v int16) {
		epoch(t)
		t.topic("t", nil)
		t.set("controller", t.env.controller())
		c := t.conn("leader")
		c.do("StopReplica", v, `{"ControllerID":$controller,"ControllerEpoch":$epoch,"BrokerEpoch":-1}`)
		c.do("StopReplica", v, `{"ControllerID":$controller,"ControllerEpoch":0,"BrokerEpoch":-1}`)
	})
	versions("UpdateMetadata", 7, func(t *T, v int16) {
		epoch(t)
		brokers(t)
		t.set("controller", t.env.controller())
		c := t.conn("leader")
		c.do("UpdateMetadata", v, `{"ControllerID":$controller,"ControllerEpoch":$epoch,"BrokerEpoch":-1,"LiveBrokers":[$live]}`)
		c.do("UpdateMetadata", v, `{"ControllerID":$controller,"ControllerEpoch":0,"BrokerEpoch":-1,"LiveBrokers":[$live]}`)
	})
	versions("ControlledShutdown", 3, func(t *T, v int16) {
		t.conn("controller").do("ControlledShutdown", v, `{"BrokerID":99,"BrokerEpoch":-1}`)
		t.conn("not the controller").do("ControlledShutdown", v, `{"BrokerID":99,"BrokerEpoch":-1}`)
	})
	add("controller/controlled-shutdown-stale-broker-epoch", func(t *T) {
		t.conn("controller").do("ControlledShutdown", 2, `{"BrokerID":1,"BrokerEpoch":0}`)
		t.conn("not the controller").do("ControlledShutdown", 2, `{"BrokerID":1,"BrokerEpoch":0}`)
		t.conn("not the controller").do("ControlledShutdown", 2, `{"BrokerID":1,"BrokerEpoch":-1}`)
	})
	add("controller/stale-broker-epoch", func(t *T) {
		epoch(t)
		t.topic("t", nil)
		brokers(t)
		c := t.conn("leader")
		c.do("LeaderAndIsr", 4, `{"ControllerID":1,"ControllerEpoch":$epoch,"BrokerEpoch":0}`)
		c.do("StopReplica", 3, `{"ControllerID":1,"ControllerEpoch":$epoch,"BrokerEpoch":0}`)
		c.do("UpdateMetadata", 6, `{"ControllerID":1,"ControllerEpoch":$epoch,"BrokerEpoch":0,"LiveBrokers":[$live]}`)
		c.do("LeaderAndIsr", 4, `{"ControllerID":1,"ControllerEpoch":0,"BrokerEpoch":0}`)
	})
	add("controller/stale-controller-epoch-with-partitions", func(t *T) {
		t.topic("t", nil)
		c := t.conn("leader")
		c.do("LeaderAndIsr", 1, `{"ControllerID":2,"ControllerEpoch":0,"PartitionStates":[{"Topic":"$t","Partition":0,"ControllerEpoch":0,"Leader":2,"LeaderEpoch":9,"ISR":[2],"ZKVersion":0,"Replicas":[1,2,3]}]}`)
		c.do("LeaderAndIsr", 4, `{"ControllerID":2,"ControllerEpoch":0,"BrokerEpoch":-1,"TopicStates":[{"Topic":"$t","PartitionStates":[{"Partition":0,"ControllerEpoch":0,"Leader":2,"LeaderEpoch":9,"ISR":[2],"ZKVersion":0,"Replicas":[1,2,3]}]}]}`)
		c.do("StopReplica", 1, `{"ControllerID":2,"ControllerEpoch":0,"BrokerEpoch":-1,"DeletePartitions":true,"Topics":[{"Topic":"$t","Partitions":[0]}]}`)
		c.do("StopReplica", 3, `{"ControllerID":2,"ControllerEpoch":0,"BrokerEpoch":-1,"Topics":[{"Topic":"$t","PartitionStates":[{"Partition":0,"LeaderEpoch":9,"Delete":true}]}]}`)
		c.do("Metadata", 7, `{"Topics":[{"Topic":"$t"}],"AllowAutoTopicCreation":false}`)
	})
	add("controller/old-leader-epoch", func(t *T) {
		epoch(t)
		t.topic("t", nil)
		c := t.conn("leader")
		c.do("LeaderAndIsr", 4, `{"ControllerID":1,"ControllerEpoch":$epoch,"BrokerEpoch":-1,"TopicStates":[{"Topic":"$t","PartitionStates":[{"Partition":0,"ControllerEpoch":$epoch,"Leader":1,"LeaderEpoch":0,"ISR":[1,2,3],"ZKVersion":0,"Replicas":[1,2,3]}]}],"LiveLeaders":[{"BrokerID":1,"Host":"127.0.0.1","Port":1}]}`)
		c.do("StopReplica", 3, `{"ControllerID":1,"ControllerEpoch":$epoch,"BrokerEpoch":-1,"Topics":[{"Topic":"$t","PartitionStates":[{"Partition":0,"LeaderEpoch":0,"Delete":false}]}]}`)
		c.do("LeaderAndIsr", 4, `{"ControllerID":1,"ControllerEpoch":$epoch,"BrokerEpoch":-1,"TopicStates":[{"Topic":"$t-missing","PartitionStates":[{"Partition":0,"ControllerEpoch":$epoch,"Leader":2,"LeaderEpoch":0,"ISR":[2,3],"ZKVersion":0,"Replicas":[2,3]}]}],"LiveLeaders":[{"BrokerID":2,"Host":"127.0.0.1","Port":1}]}`)
		c.do("StopReplica", 3, `{"ControllerID":1,"ControllerEpoch":$epoch,"BrokerEpoch":-1,"Topics":[{"Topic":"$t-missing","PartitionStates":[{"Partition":0,"LeaderEpoch":0,"Delete":true}]}]}`)
	})
	add("controller/stop-replica-of-unknown-partition", func(t *T) {
		epoch(t)
		t.unique("t")
		for _, del := range []string{"false", "true"} {
			t.conn("leader").do("StopReplica", 3, `{"ControllerID":1,"ControllerEpoch":$epoch,"BrokerEpoch":-1,"Topics":[{"Topic":"$t","PartitionStates":[{"Partition":0,"LeaderEpoch":0,"Delete":`+del+`}]}]}`)
		}
	})
	add("controller/alter-isr", func(t *T) {
		t.topic("t", nil)
		t.conn("controller").do("AlterIsr", 0, `{"BrokerID":99,"BrokerEpoch":0,"Topics":[{"Topic":"$t","Partitions":[{"Partition":0,"LeaderEpoch":0,"NewISR":[1],"PartitionEpoch":0}]}]}`)
		t.conn("not the controller").do("AlterIsr", 0, `{"BrokerID":1,"BrokerEpoch":0,"Topics":[{"Topic":"$t","Partitions":[{"Partition":0,"LeaderEpoch":0,"NewISR":[1],"PartitionEpoch":0}]}]}`)
	})
}
