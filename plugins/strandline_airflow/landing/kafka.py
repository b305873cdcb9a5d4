"""Kafka as landing needs it: one barrier of watermarks, then exact offset ranges.

An Airflow connection of type `kafka` holds librdkafka's configuration as JSON in `extra`, as with
the official Kafka provider. Nothing here depends on consumer groups: offsets live in the lake.
"""

import shlex
import time
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from concurrent.futures import Future
from dataclasses import dataclass
from datetime import UTC, datetime
from types import TracebackType
from typing import Any, Self, TypeGuard

from airflow.sdk import BaseHook, Connection
from airflow.sdk.exceptions import AirflowNotFoundException
from confluent_kafka import (
    Consumer,
    ConsumerGroupTopicPartitions,
    IsolationLevel,
    KafkaError,
    KafkaException,
    Message,
    TopicCollection,
    TopicPartition,
)
from confluent_kafka.admin import AclOperation, AdminClient, OffsetSpec, TopicDescription

from strandline.errors import Terminal, Transient
from strandline.runs.segment import Segment, Watermarks

ANSWER_SECONDS = 10.0  # for one request, and so for an unreachable broker
PATIENCE_SECONDS = 30.0  # without one record or end of partition while a segment is read

# An offset that cannot be read has one code, and why it cannot only in its text.
_TRUNCATED = KafkaError(KafkaError._LOG_TRUNCATION).str()  # noqa: SLF001 - the binding's public name
_NO_TOPIC_ID = "A" * 22  # KIP-516's zero UUID: the broker has no ids
_MESSAGE_OVERHEAD = 100  # bytes; what a record costs beside its key, value and headers

_OF_ONE_TOPIC = (KafkaError.UNKNOWN_TOPIC_OR_PART, KafkaError.TOPIC_AUTHORIZATION_FAILED)

_Place = tuple[str | None, int | None]  # topic and partition, as librdkafka says them

_DEFAULTS = {
    "fetch.wait.max.ms": 100,
    # What librdkafka has read ahead of us, and how long it waits before it looks whether there is
    # room again: a second by default, in which a full queue is read empty many times.
    "queued.max.messages.kbytes": 32_768,
    "fetch.queue.backoff.ms": 10,
}
_REQUIRED = {
    "enable.auto.commit": False,
    "enable.partition.eof": True,
    "isolation.level": "read_committed",
    "auto.offset.reset": "error",  # a deleted offset is a gap to be reported, not to be jumped
    "log_level": 0,  # librdkafka repeats one line for ever; `_Complaints` keeps it once
}


@dataclass(frozen=True, slots=True)
class Barrier:
    """Where every partition of a source ended at one instant, not after `taken_at`.

    `unanswered` has a line for each partition whose leader did not answer, `forbidden` one by topic
    that the connection's user may not read; the others are whole.
    """

    watermarks: tuple[Watermarks, ...]
    unanswered: tuple[str, ...]
    forbidden: Mapping[str, str]
    taken_at: datetime


class Unread(Terminal):
    """Segments that cannot be read until somebody has changed something; the others were read."""

    def __init__(self, reasons: Mapping[Segment, str]) -> None:
        super().__init__("; ".join(reasons.values()))
        self.segments = frozenset(reasons)


class KafkaSegments(BaseHook):
    """Reads segments from the cluster of an Airflow connection; use it in a `with` block.

    `group` is where consumed offsets are reported for lag tools unless the connection has a
    `group.id`. Raises `Terminal` where the connection is missing or cannot be used, `Transient`
    where the cluster does not answer.
    """

    conn_name_attr = "kafka_conn_id"
    default_conn_name = "kafka_default"
    conn_type = "kafka"
    hook_name = "Apache Kafka"

    def __init__(
        self, kafka_conn_id: str, group: str, patience_seconds: float = PATIENCE_SECONDS
    ) -> None:
        super().__init__()
        self.kafka_conn_id = kafka_conn_id
        self._patience_seconds = patience_seconds
        self._config = {"group.id": group, **self._read_connection()}
        self._complaints = _Complaints()
        self._admin = self._new(AdminClient)
        self._consumer: Consumer | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if self._consumer is not None:
            self._consumer.close()

    @property
    def servers(self) -> str:
        """The brokers that were named, and where."""
        return f"{self._config['bootstrap.servers']} of Airflow connection '{self.kafka_conn_id}'"

    def barrier(self, owns: Callable[[str], bool], known: Iterable[str] = ()) -> Barrier:
        """The watermarks of all partitions of the topics that `owns` accepts, in one pass.

        A topic that does not exist (yet) is simply not there. Nor does Kafka list one that its
        client may not see: those that are `known` are asked for by name.
        """
        described = self._describe({topic for topic in (*self._topics(), *known) if owns(topic)})
        topics = {name: one for name, one in described.items() if _is_readable(one)}
        partitions = [
            TopicPartition(topic.name, partition.id)
            for topic in topics.values()
            for partition in topic.partitions
        ]
        forbidden = {name: self._forbidden(name) for name in sorted(described.keys() - topics)}
        # Starts first: what retention deletes in between makes a segment fail, never disappear.
        starts = self._offsets(partitions, OffsetSpec.earliest())
        ends = self._offsets(partitions, OffsetSpec.latest())
        answered, unanswered = [], []
        for key in starts:
            start, end = starts[key], ends[key]
            if isinstance(start, int) and isinstance(end, int):
                topic_id = _topic_id(topics[key[0]])
                answered.append(Watermarks(key[0], topic_id, key[1], start, end))
            else:
                unanswered.append(f"{key[0]}[{key[1]}]: {start if isinstance(start, str) else end}")
        return Barrier(tuple(answered), tuple(unanswered), forbidden, datetime.now(UTC))

    def offsets_at(self, marks: Iterable[Watermarks], millis: int) -> dict[tuple[str, int], int]:
        """Per topic and partition the first offset of that time or later; its end where none is."""
        partitions = {(mark.topic, mark.partition): mark for mark in marks}
        asked = [TopicPartition(*place) for place in partitions]
        found = self._offsets(asked, OffsetSpec.for_timestamp(millis))
        for place, offset in found.items():
            if isinstance(offset, str):
                raise Transient(f"{place[0]}[{place[1]}]: {offset}; {self._where()}")
        return {
            place: offset if isinstance(offset, int) and offset >= 0 else partitions[place].end
            for place, offset in found.items()
        }

    def topic_ids(self, topics: Collection[str]) -> dict[str, str]:
        """The ids of those topics that exist; `Terminal` where one may not be seen."""
        ids = {}
        for name, topic in self._describe(topics).items():
            if isinstance(topic, KafkaError):
                raise Terminal(self._forbidden(name))
            ids[name] = _topic_id(topic)
        return ids

    def consume(
        self,
        starts: Mapping[Segment, int],
        byte_budget: int,
        epochs: Mapping[Segment, int] | None = None,
    ) -> Iterator[dict[Segment, list[Message]]]:
        """The records of `[start, segment.end)` of every segment, in order within a segment.

        They come in chunks of about `byte_budget` bytes. All partitions are read at once: getting
        a partition to flow takes longer than reading the little that most of them have. `epochs`
        are the leader epochs of the records right before the starts, where they are known: the
        broker is asked whether it still has those. Raises `Transient` where nothing comes for too
        long, and `Unread`, after all that can be read, where the broker no longer has a start or
        what was before it, or does not let this user read.
        """
        segments: dict[_Place, Segment] = {(one.topic, one.partition): one for one in starts}
        chunk: dict[_Place, list[Message]] = {}
        size = 0
        refused: dict[Segment, str] = {}
        consumer = self._assigned(starts, epochs or {})
        for place, message in self._records(segments, consumer, refused):
            chunk.setdefault(place, []).append(message)
            size += _size(message)
            if size >= byte_budget:
                yield {segments[place]: messages for place, messages in chunk.items()}
                chunk, size = {}, 0
        if chunk:
            yield {segments[place]: messages for place, messages in chunk.items()}
        if refused:
            raise Unread(refused)

    def report_progress(self, next_offsets: Mapping[tuple[str, int], int]) -> None:
        """Commits offsets to the consumer group, so that lag tools show the truth.

        They are never read here, hence a failure is a warning.
        """
        group = self._config["group.id"]
        partitions = [TopicPartition(*key, offset) for key, offset in next_offsets.items()]
        request = ConsumerGroupTopicPartitions(group, partitions)
        futures = self._admin.alter_consumer_group_offsets(
            [request], request_timeout=ANSWER_SECONDS
        )
        try:
            futures[group].result()
        except KafkaException as error:
            self.log.warning(
                "Offsets are landed, but could not be shown in consumer group %s: %s",
                group,
                error.args[0].str(),
            )

    def _read_connection(self) -> dict[str, Any]:
        conn_id = self.kafka_conn_id
        remedy = (
            f"create it: airflow connections add {conn_id} --conn-type kafka --conn-extra "
            '\'{"bootstrap.servers": "host:9092"}\', or set the variable '
            f"AIRFLOW_CONN_{conn_id.upper()} to a JSON document with conn_type and extra"
        )
        try:
            connection: Connection = self.get_connection(conn_id)
        except AirflowNotFoundException as error:
            raise Terminal(f"there is no Airflow connection '{conn_id}'; {remedy}") from error
        config: dict[str, Any] = connection.extra_dejson
        if not config.get("bootstrap.servers"):
            raise Terminal(
                f"Airflow connection '{conn_id}' has no 'bootstrap.servers' in its extra; {remedy}"
            )
        return config

    def _new(self, client: type[Any]) -> Any:
        config = {**_DEFAULTS, **self._config, **_REQUIRED, "error_cb": self._complaints}
        try:
            return client(config)
        except (KafkaException, TypeError, ValueError) as error:
            detail = error.args[0].str() if isinstance(error, KafkaException) else error
            raise Terminal(
                f"Airflow connection '{self.kafka_conn_id}': librdkafka refuses its extra: "
                f"{detail}; its options are in librdkafka's CONFIGURATION.md"
            ) from error

    def _topics(self) -> list[str]:
        try:
            return sorted(self._admin.list_topics(timeout=ANSWER_SECONDS).topics)
        except KafkaException as error:
            raise self._unreachable(error.args[0]) from error

    def _describe(self, topics: Collection[str]) -> dict[str, TopicDescription | KafkaError]:
        """Those that exist; an error in place of what this user may not see.

        The broker that is asked is one that the cluster named before, and may be dead by now. The
        list of topics comes from any that lives, and names another.
        """
        deadline = time.monotonic() + self._patience_seconds
        while True:
            try:
                return self._described(topics) if topics else {}
            except Transient:
                if time.monotonic() > deadline:
                    raise
                self._topics()

    def _described(self, topics: Collection[str]) -> dict[str, TopicDescription | KafkaError]:
        futures = self._admin.describe_topics(
            TopicCollection(list(topics)),
            include_authorized_operations=True,
            request_timeout=ANSWER_SECONDS,
        )
        answers = {topic: self._answer(future) for topic, future in futures.items()}
        return {
            topic: answer
            for topic, answer in answers.items()
            if not _is(answer, KafkaError.UNKNOWN_TOPIC_OR_PART)
        }

    def _answer(self, future: Future[Any]) -> Any:
        """The future's result, or its error where it is of that one topic only."""
        try:
            return future.result()
        except KafkaException as error:
            if any(_is(error.args[0], code) for code in _OF_ONE_TOPIC):
                return error.args[0]
            raise self._unreachable(error.args[0]) from error

    def _offsets(
        self, partitions: list[TopicPartition], which: OffsetSpec
    ) -> dict[tuple[str, int], int | str]:
        """Offset or error text by topic and partition; "latest" is the last stable offset."""
        if not partitions:
            return {}
        futures = self._admin.list_offsets(
            dict.fromkeys(partitions, which),
            isolation_level=IsolationLevel.READ_COMMITTED,
            request_timeout=ANSWER_SECONDS,
        )
        return {
            (partition.topic, partition.partition): _offset(future)
            for partition, future in futures.items()
        }

    def _assigned(self, starts: Mapping[Segment, int], epochs: Mapping[Segment, int]) -> Consumer:
        if self._consumer is None:
            self._consumer = self._new(Consumer)
        self._consumer.assign(
            [
                TopicPartition(
                    segment.topic, segment.partition, start, leader_epoch=epochs.get(segment, -1)
                )
                for segment, start in starts.items()
            ]
        )
        return self._consumer

    def _records(
        self,
        segments: Mapping[_Place, Segment],
        consumer: Consumer,
        refused: dict[Segment, str],
    ) -> Iterator[tuple[_Place, Message]]:
        """Records up to the ends of the segments, each with its topic and partition.

        A range may end in a hole (an aborted transaction), so three things end it: its last offset,
        a record behind it, and the end of the partition at or behind it. A segment that the
        broker refuses is put into `refused` with the reason, and holds no other.
        """
        reading = dict(segments)
        deadline = time.monotonic() + self._patience_seconds
        while reading:
            message = consumer.poll(0.5)
            if message is None:
                if time.monotonic() > deadline:
                    raise self._silent(reading.values())
                continue
            place = message.topic(), message.partition()
            offset, error = message.offset(), message.error()
            if error is not None and (reason := self._refusal(place, error)):
                for each in [each for each in reading if place in (each, (each[0], None))]:
                    one = reading.pop(each)
                    refused[one] = reason
                    consumer.incremental_unassign([TopicPartition(one.topic, one.partition)])
                continue
            if offset is None or not (error is None or _is_end(error)):
                raise self._unreadable(place, error)
            segment = reading.get(place)
            if segment is None:
                continue  # was on its way when its partition was done
            if error is None and offset < segment.end:
                yield place, message
            if offset >= (segment.end - 1 if error is None else segment.end):
                del reading[place]
                consumer.incremental_unassign([TopicPartition(segment.topic, segment.partition)])
            deadline = time.monotonic() + self._patience_seconds

    def _silent(self, segments: Iterable[Segment]) -> Transient:
        waiting = ", ".join(map(str, segments))
        return Transient(
            f"nothing came from {waiting} for {self._patience_seconds:.0f} s; {self._where()}"
        )

    def _unreadable(self, place: _Place, error: KafkaError | None) -> Exception:
        if error is None:
            return Transient(f"librdkafka gave a record without coordinates; {self._where()}")
        topic, partition = place
        return Transient(f"{topic}[{partition}] cannot be read: {error.str()}; {self._where()}")

    def _refusal(self, place: _Place, error: KafkaError) -> str | None:
        """What somebody has to do about the error; None where a retry may help."""
        topic, partition = place
        where = f"{topic}[{partition}]"
        if _is(error, KafkaError._AUTO_OFFSET_RESET) and _TRUNCATED in error.str():  # noqa: SLF001 - the binding's public name
            return (
                f"{where}: the brokers lost records that are landed, and others have their "
                f"offsets ({error.str()}): a leader was elected uncleanly, or a disk restored. "
                "Nothing of this partition is landed meanwhile. Stop the connector; trigger the "
                f"backfill DAG with topic {topic}, partition {partition} and the broker end offset "
                "as start_offset (none where it is -1); delete the topic and create it again; "
                "start the connector, and let it take a snapshot of the topic's table"
            )
        if _is(error, KafkaError._AUTO_OFFSET_RESET):  # noqa: SLF001 - likewise
            return (
                f"{where}: retention deleted records between planning and landing; "
                "the next run of this DAG records the gap and goes on behind it"
            )
        if _is(error, KafkaError.TOPIC_AUTHORIZATION_FAILED):
            return self._forbidden(str(topic))
        return None

    def _unreachable(self, error: KafkaError) -> Exception:
        self._admin.poll(0)  # hands over the complaints
        if self._complaints.refused:
            return Terminal(
                f"Kafka refuses Airflow connection '{self.kafka_conn_id}': {self._where()}"
            )
        return Transient(f"Kafka does not answer ({error.str()}); {self._where()}")

    def _forbidden(self, topic: str) -> str:
        user = shlex.quote(f"User:{self._config.get('sasl.username', 'NAME')}")
        return (
            f"topic {topic}: Kafka does not let the user of Airflow connection "
            f"'{self.kafka_conn_id}' read it. Nothing of it is landed until then, and nothing is "
            "lost but what retention deletes meanwhile. Give the right: kafka-acls.sh "
            f"--bootstrap-server {self._config['bootstrap.servers']} --add --allow-principal "
            f"{user} --operation Read --topic {topic}, and take away what denies it, which "
            f"kafka-acls.sh --list --topic {topic} shows"
        )

    def _where(self) -> str:
        return (
            f"broker {self.servers}{self._complaints}: check that it runs, that this worker may "
            "reach it, and the connection's extra"
        )


class _Complaints:
    """The last thing that librdkafka said went wrong, beside its general 'all brokers down'."""

    def __init__(self) -> None:
        self._last = ""
        self.refused = False

    def __call__(self, error: KafkaError) -> None:
        if _is(error, KafkaError._ALL_BROKERS_DOWN):  # noqa: SLF001 - the binding's public name
            return
        self._last = error.str()
        self.refused = _is(error, KafkaError._AUTHENTICATION)  # noqa: SLF001 - likewise

    def __str__(self) -> str:
        return f" ({self._last})" if self._last else ""


def _is(error: object, code: int) -> bool:
    return isinstance(error, KafkaError) and error.code() == code


def _is_end(error: KafkaError) -> bool:
    """Whether it is none, but says that a partition ends here."""
    return _is(error, KafkaError._PARTITION_EOF)  # noqa: SLF001 - the binding's public name


def _offset(future: Future[Any]) -> int | str:
    try:
        return int(future.result().offset)
    except KafkaException as error:
        return str(error.args[0].str())


def _is_readable(topic: TopicDescription | KafkaError) -> TypeGuard[TopicDescription]:
    """Whether its records may be read, as far as the broker says what this user may do."""
    if isinstance(topic, KafkaError):
        return False
    return not topic.authorized_operations or AclOperation.READ in topic.authorized_operations


def _topic_id(topic: TopicDescription) -> str:
    """The id as Kafka's own tools print it (URL-safe); the name where the broker has no ids."""
    text = str(topic.topic_id).replace("+", "-").replace("/", "_")
    return topic.name if text == _NO_TOPIC_ID else text


def _size(message: Message) -> int:
    """Bytes of a record; asked of each, so its headers are not gone through by a generator."""
    size = _MESSAGE_OVERHEAD + len(message.key() or b"") + len(message.value() or b"")
    headers: Any = message.headers()  # pairs; what is produced may also be declared as a dict
    for name, value in headers or ():
        size += len(name) + len(value or b"")
    return size
