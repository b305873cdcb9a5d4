"""Sends recorded records to a broker: what a Debezium connector does, from a recording."""

from collections.abc import Iterable

from confluent_kafka import KafkaError, Message, Producer

from strandline.changes.record import Record

_PATIENCE = 30  # seconds for everything to be stored


def replay(bootstrap: str, records: Iterable[Record]) -> int:
    """Produces each record to its own partition of an existing topic; returns how many.

    Key, value, headers and timestamp arrive unchanged; the offset is what the broker gives.
    """
    return send(Producer({"bootstrap.servers": bootstrap, "linger.ms": 5}), records)


def send(producer: Producer, records: Iterable[Record]) -> int:
    """The same by a producer that there is already."""
    count = 0
    for record in records:
        producer.produce(
            record.at.topic,
            partition=record.at.partition,
            key=record.key,
            value=record.value,
            headers=list(record.headers),
            timestamp=record.timestamp,
            on_delivery=_refuse,
        )
        producer.poll(0)
        count += 1
    if left := producer.flush(_PATIENCE):
        raise TimeoutError(f"{left} of {count} records were not stored within {_PATIENCE} s")
    return count


def _refuse(error: KafkaError | None, message: Message) -> None:
    if error is not None:
        raise RuntimeError(f"{message.topic()}[{message.partition()}]: {error.str()}")
