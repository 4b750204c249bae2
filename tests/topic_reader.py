import json
import time

from confluent_kafka import Consumer, Message, TopicPartition

from penstock.kafka.topics import end_offsets


def read_messages(bootstrap: str, topic: str, partitions: int) -> list[Message]:
    wanted = sum(end_offsets({"bootstrap.servers": bootstrap}, topic, partitions))
    consumer = Consumer({"bootstrap.servers": bootstrap, "group.id": "test", "enable.auto.commit": False})
    consumer.assign([TopicPartition(topic, each, 0) for each in range(partitions)])
    found: list[Message] = []
    deadline = time.monotonic() + 60
    while len(found) < wanted:
        assert time.monotonic() < deadline, f"read {len(found)} of {wanted} records"
        found += [message for message in consumer.consume(5000, 0.2) if message.error() is None]
    consumer.close()
    return found


def read_positions(bootstrap: str, topic: str, partitions: int) -> list[int]:
    return [int(json.loads(message.value() or b"")["position"]) for message in read_messages(bootstrap, topic, partitions)]
