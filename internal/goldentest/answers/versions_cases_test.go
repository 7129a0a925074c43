package answers

const oneProduce = `{"Acks":-1,"TimeoutMillis":5000,"Topics":[{"Topic":"$t","Partitions":[{"Partition":0,"Records":"@records"}]}]}`

// registerVersions asks every version of an API the same; the controller's own APIs are in registerController.
func registerVersions() {
	versions("Produce", 9, func(t *T, v int16) {
		t.topic("t", nil)
		t.bin["records"] = oldest(v, "a", "b")
		c := t.conn("leader")
		c.do("Produce", v, oneProduce)
		c.do("Produce", v, oneProduce)
	})
	versions("Fetch", 12, func(t *T, v int16) {
		t.topic("t", nil)
		b := newBatch("a", "b")
		b.recs[1].headers = [][2]string{{"h", "1"}}
		t.produce(t.vars["t"], 0, b.bytes())
		t.conn("leader").do("Fetch", v, `{"ReplicaID":-1,"MaxWaitMillis":100,"MinBytes":1,"MaxBytes":100000,"SessionID":0,"SessionEpoch":-1,"Topics":[{"Topic":"$t","Partitions":[{"Partition":0,"CurrentLeaderEpoch":-1,"FetchOffset":0,"LastFetchedEpoch":-1,"LogStartOffset":-1,"PartitionMaxBytes":100000}]}]}`)
	})
	versions("ListOffsets", 6, func(t *T, v int16) {
		t.topic("t", nil)
		t.produce(t.vars["t"], 0, newBatch("a", "b", "c").bytes())
		c := t.conn("leader")
		for _, ts := range []string{"-1", "-2", "1600000000001"} {
			c.do("ListOffsets", v, `{"ReplicaID":-1,"Topics":[{"Topic":"$t","Partitions":[{"Partition":0,"CurrentLeaderEpoch":-1,"Timestamp":`+ts+`,"MaxNumOffsets":5}]}]}`)
		}
	})
	versions("Metadata", 11, func(t *T, v int16) {
		t.topic("t", [][]int32{{1, 2, 3}, {2, 3, 1}})
		t.conn("leader").do("Metadata", v, `{"Topics":[{"Topic":"$t"}],"AllowAutoTopicCreation":false}`)
	})
	versions("CreateTopics", 7, func(t *T, v int16) {
		t.unique("t")
		c := t.conn("controller")
		c.do("CreateTopics", v, `{"TimeoutMillis":10000,"Topics":[{"Topic":"$t","NumPartitions":2,"ReplicationFactor":2,"Configs":[{"Name":"retention.ms","Value":"1000000"}]}]}`)
		c.do("CreateTopics", v, `{"TimeoutMillis":10000,"Topics":[{"Topic":"$t","NumPartitions":2,"ReplicationFactor":2}]}`)
	})
	versions("DeleteRecords", 2, func(t *T, v int16) {
		t.topic("t", nil)
		t.produce(t.vars["t"], 0, newBatch("a", "b", "c").bytes())
		t.conn("leader").do("DeleteRecords", v, `{"TimeoutMillis":5000,"Topics":[{"Topic":"$t","Partitions":[{"Partition":0,"Offset":2}]}]}`)
	})
	versions("OffsetForLeaderEpoch", 4, func(t *T, v int16) {
		t.topic("t", nil)
		t.produce(t.vars["t"], 0, newBatch("a", "b", "c").bytes())
		t.conn("leader").do("OffsetForLeaderEpoch", v, `{"ReplicaID":-1,"Topics":[{"Topic":"$t","Partitions":[{"Partition":0,"CurrentLeaderEpoch":-1,"LeaderEpoch":0}]}]}`)
	})
	versions("DescribeConfigs", 4, func(t *T, v int16) {
		t.topic("t", nil, "cleanup.policy=compact")
		t.conn("leader").do("DescribeConfigs", v, `{"IncludeSynonyms":true,"Resources":[{"ResourceType":2,"ResourceName":"$t","ConfigNames":["cleanup.policy","retention.ms","compression.type"]},{"ResourceType":4,"ResourceName":"1","ConfigNames":["broker.id","num.io.threads","ssl.key.password"]}]}`)
	})
	versions("DescribeCluster", 0, func(t *T, v int16) {
		t.conn("controller").do("DescribeCluster", v, `{"IncludeClusterAuthorizedOperations":true}`)
	})
	versions("CreatePartitions", 3, func(t *T, v int16) {
		t.topic("t", nil)
		t.conn("controller").do("CreatePartitions", v, `{"TimeoutMillis":10000,"Topics":[{"Topic":"$t","Count":3,"Assignment":null}]}`)
	})
}

const fetchAll = `{"ReplicaID":-1,"MaxWaitMillis":200,"MinBytes":1,"MaxBytes":1000000,"SessionID":0,"SessionEpoch":-1,"Topics":[{"Topic":"$t","Partitions":[{"Partition":0,"CurrentLeaderEpoch":-1,"FetchOffset":0,"LogStartOffset":-1,"PartitionMaxBytes":1000000}]}]}`
