"""A Kafka broker inside this process: librdkafka's mock cluster, for the demo and the tests.

It speaks the real protocol over loopback and keeps everything in memory: about 5 MB and 100,000
batches a partition, then it drops the oldest. It ships inside the confluent-kafka wheel, whose
Python binding has no calls for it, hence ctypes. Source: librdkafka `src/rdkafka_mock.h`.
"""

import ctypes
from collections import Counter
from collections.abc import Iterable
from pathlib import Path
from types import TracebackType
from typing import Self

import confluent_kafka
from confluent_kafka import KafkaError, Message, Producer

from strandline.record import Record

_BROKER = 1
_PRODUCER = 0  # rd_kafka_type_t
_POINTER = ctypes.c_void_p
_TEXT = ctypes.c_char_p
_SIGNATURES = {
    "rd_kafka_conf_new": (_POINTER, []),
    "rd_kafka_conf_set": (ctypes.c_int, [_POINTER, _TEXT, _TEXT, _TEXT, ctypes.c_size_t]),
    "rd_kafka_new": (_POINTER, [ctypes.c_int, _POINTER, _TEXT, ctypes.c_size_t]),
    "rd_kafka_destroy": (None, [_POINTER]),
    "rd_kafka_mock_cluster_new": (_POINTER, [_POINTER, ctypes.c_int]),
    "rd_kafka_mock_cluster_destroy": (None, [_POINTER]),
    "rd_kafka_mock_cluster_bootstraps": (_TEXT, [_POINTER]),
    "rd_kafka_mock_set_controller_id": (None, [_POINTER, ctypes.c_int32]),
    "rd_kafka_mock_topic_create": (ctypes.c_int, [_POINTER, _TEXT, ctypes.c_int, ctypes.c_int]),
    "rd_kafka_mock_topic_delete": (ctypes.c_int, [_POINTER, _TEXT]),
    "rd_kafka_mock_partition_delete_records": (
        ctypes.c_int,
        [_POINTER, _TEXT, ctypes.c_int32, ctypes.c_int64],
    ),
    "rd_kafka_mock_partition_set_leader": (
        ctypes.c_int,
        [_POINTER, _TEXT, ctypes.c_int32, ctypes.c_int32],
    ),
    "rd_kafka_mock_broker_set_down": (ctypes.c_int, [_POINTER, ctypes.c_int32]),
    "rd_kafka_mock_broker_set_up": (ctypes.c_int, [_POINTER, ctypes.c_int32]),
}


class EmbeddedKafka:
    """Brokers with topics, for as long as the `with` block lasts: one, unless there are to be more.

    `bootstrap` is the address (`127.0.0.1:port`, with commas between several).
    """

    def __init__(self, brokers: int = 1) -> None:
        self._library = _load()
        self._brokers = brokers
        self._topics: set[str] = set()

    def __enter__(self) -> Self:
        self._handle = self._new_handle()
        self._cluster = self._library.rd_kafka_mock_cluster_new(self._handle, self._brokers)
        # Without a controller an AdminClient waits for one until it times out.
        self._library.rd_kafka_mock_set_controller_id(self._cluster, _BROKER)
        self.bootstrap = self._library.rd_kafka_mock_cluster_bootstraps(self._cluster).decode()
        self._producer = Producer(
            {
                "bootstrap.servers": self.bootstrap,
                "linger.ms": 5,
                "log_level": 0,
            }
        )
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._producer.flush(5)
        self._library.rd_kafka_mock_cluster_destroy(self._cluster)
        self._library.rd_kafka_destroy(self._handle)

    def create_topic(self, name: str, partitions: int = 1) -> None:
        """Creates the topic with an id of its own; ValueError where it exists."""
        if name in self._topics:
            raise ValueError(f"topic {name} exists")
        self._call("rd_kafka_mock_topic_create", name.encode(), partitions, 1)
        self._topics.add(name)

    def create_topics_of(self, records: Iterable[Record]) -> None:
        """Creates every topic of the records, with as many partitions as they use."""
        partitions: Counter[str] = Counter()
        for record in records:
            used = record.at.partition + 1
            partitions[record.at.topic] = max(partitions[record.at.topic], used)
        for name, count in sorted(partitions.items()):
            self.create_topic(name, count)

    def delete_topic(self, name: str) -> None:
        """Deletes the topic; creating it again gives it another id."""
        self._call("rd_kafka_mock_topic_delete", name.encode())
        self._topics.discard(name)

    def delete_records(self, topic: str, partition: int, before_offset: int) -> None:
        """Deletes everything before the offset, as retention does."""
        self._call(
            "rd_kafka_mock_partition_delete_records", topic.encode(), partition, before_offset
        )

    def move_leader(self, topic: str, partition: int, broker: int) -> None:
        """Makes another of the `brokers` the partition's leader."""
        self._call("rd_kafka_mock_partition_set_leader", topic.encode(), partition, broker)

    def set_broker_down(self) -> None:
        """Closes the port and every connection; what is stored stays."""
        self._call("rd_kafka_mock_broker_set_down", _BROKER)

    def set_broker_up(self) -> None:
        """Opens the port again."""
        self._call("rd_kafka_mock_broker_set_up", _BROKER)

    def replay(self, records: Iterable[Record]) -> int:
        """Produces the records as they are, each to its own partition; returns how many.

        Timestamp, headers, key and value arrive unchanged; the offset is what the broker gives, so
        it is the record's own where a partition is replayed whole and in order. Raises ValueError
        for a topic that was not created here (the broker would make one up, with four partitions).
        """
        count = 0
        for record in records:
            if record.at.topic not in self._topics:
                raise ValueError(f"topic {record.at.topic} was not created")
            self._produce(record)
            count += 1
        if left := self._producer.flush(30):
            raise TimeoutError(f"{left} records were not stored within 30 s")
        return count

    def _produce(self, record: Record) -> None:
        self._producer.produce(
            record.at.topic,
            partition=record.at.partition,
            key=record.key,
            value=record.value,
            headers=list(record.headers),
            timestamp=record.timestamp,
            on_delivery=_refuse_failure,
        )
        self._producer.poll(0)

    def _new_handle(self) -> int:
        error = ctypes.create_string_buffer(512)
        conf = self._library.rd_kafka_conf_new()
        self._library.rd_kafka_conf_set(conf, b"log_level", b"0", error, len(error))
        handle = self._library.rd_kafka_new(_PRODUCER, conf, error, len(error))
        if not handle:
            raise RuntimeError(f"librdkafka did not start: {error.value.decode()}")
        return int(handle)

    def _call(self, function: str, *arguments: object) -> None:
        code = getattr(self._library, function)(self._cluster, *arguments)
        if code:
            raise RuntimeError(f"{function}{arguments} failed: {KafkaError(code).str()}")


def _load() -> ctypes.CDLL:
    """The shared library that the wheel brought along."""
    package = Path(confluent_kafka.__file__).parent
    found = sorted(package.with_name("confluent_kafka.libs").glob("librdkafka*.so*"))
    found += sorted((package / ".dylibs").glob("librdkafka*.dylib"))
    if not found:
        raise RuntimeError(
            "no librdkafka beside confluent_kafka: install its wheel, not its source"
        )
    library = ctypes.CDLL(str(found[0]))
    for name, (result, arguments) in _SIGNATURES.items():
        function = getattr(library, name)
        function.restype = result
        function.argtypes = arguments
    return library


def _refuse_failure(error: KafkaError | None, message: Message) -> None:
    if error is not None:
        raise RuntimeError(f"{message.topic()}[{message.partition()}]: {error.str()}")
