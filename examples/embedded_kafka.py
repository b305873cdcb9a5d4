"""A Kafka broker inside this process: librdkafka's mock cluster, for the demo and the tests.

It speaks the real protocol over loopback and keeps everything in memory: about 5 MB and 100,000
batches a partition, then it drops the oldest. It ships inside the confluent-kafka wheel, whose
Python binding has no calls for it, hence ctypes. Source: librdkafka `src/rdkafka_mock.h`.
"""

import ctypes
from pathlib import Path

import confluent_kafka
from confluent_kafka import KafkaError

from examples.broker import Broker

NOBODY = -1  # of brokers, as leader of a partition
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


class EmbeddedKafka(Broker):
    """Brokers with topics, for as long as the `with` block lasts: one, unless there are to be more.

    `bootstrap` is the address (`127.0.0.1:port`, with commas between several).
    """

    def __init__(self, brokers: int = 1) -> None:
        super().__init__()
        self._library = _load()
        self._brokers = brokers

    def _begin(self) -> None:
        self._handle = self._new_handle()
        self._cluster = self._library.rd_kafka_mock_cluster_new(self._handle, self._brokers)
        # Without a controller an AdminClient waits for one until it times out.
        self._library.rd_kafka_mock_set_controller_id(self._cluster, _BROKER)
        self.bootstrap = self._library.rd_kafka_mock_cluster_bootstraps(self._cluster).decode()

    def _end(self) -> None:
        self._library.rd_kafka_mock_cluster_destroy(self._cluster)
        self._library.rd_kafka_destroy(self._handle)

    def create_topic(self, name: str, partitions: int = 1) -> None:
        """Creates the topic with an id of its own; ValueError where it exists."""
        if name in self._topics:
            raise ValueError(f"topic {name} exists")
        self._call("rd_kafka_mock_topic_create", name.encode(), partitions, 1)
        self._topics.add(name)

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
        """Makes another of the `brokers` the partition's leader; `NOBODY` leaves it without one."""
        self._call("rd_kafka_mock_partition_set_leader", topic.encode(), partition, broker)

    def set_broker_down(self) -> None:
        """Closes the port and every connection; what is stored stays."""
        self._call("rd_kafka_mock_broker_set_down", _BROKER)

    def set_broker_up(self) -> None:
        """Opens the port again."""
        self._call("rd_kafka_mock_broker_set_up", _BROKER)

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
