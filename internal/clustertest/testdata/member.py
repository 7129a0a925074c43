# A member of a group with kafka-python, as internal/clustertest's tests start it:
# member.py BROKERS GROUP TOPIC INSTANCE-ID(or "") eager|cooperative SESSION-TIMEOUT-MS
# It prints the value of each record, and leaves when it gets SIGINT.
import signal
import sys
from kafka import KafkaConsumer
from kafka.coordinator.assignors.cooperative_sticky import CooperativeStickyAssignor
from kafka.coordinator.assignors.range import RangePartitionAssignor

brokers, group, topic, instance, rule, session = sys.argv[1:]
leaving = False


def leave(*_):
    global leaving
    leaving = True


signal.signal(signal.SIGINT, leave)
consumer = KafkaConsumer(
    topic, bootstrap_servers=brokers.split(","), group_id=group, group_instance_id=instance or None,
    auto_offset_reset="earliest", session_timeout_ms=int(session), heartbeat_interval_ms=500, auto_commit_interval_ms=200,
    partition_assignment_strategy=[CooperativeStickyAssignor if rule == "cooperative" else RangePartitionAssignor])
while not leaving:
    for records in consumer.poll(timeout_ms=100).values():
        for record in records:
            print(record.value.decode(), flush=True)
consumer.close()
