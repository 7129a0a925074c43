# A member of a group with kafka-python, as internal/clustertest's tests start it:
# member.py BROKERS GROUP TOPIC INSTANCE-ID(or "") eager|cooperative
# It prints the value of each record, and leaves when it gets SIGINT.
import sys
from kafka import KafkaConsumer
from kafka.coordinator.assignors.cooperative_sticky import CooperativeStickyAssignor
from kafka.coordinator.assignors.range import RangePartitionAssignor

brokers, group, topic, instance, rule = sys.argv[1:]
assignor = CooperativeStickyAssignor if rule == "cooperative" else RangePartitionAssignor
consumer = KafkaConsumer(
    topic, bootstrap_servers=brokers.split(","), group_id=group, group_instance_id=instance or None,
    auto_offset_reset="earliest", session_timeout_ms=6000, heartbeat_interval_ms=500, auto_commit_interval_ms=200,
    partition_assignment_strategy=[assignor])
try:
    for record in consumer:
        print(record.value.decode(), flush=True)
except KeyboardInterrupt:
    pass
consumer.close()
