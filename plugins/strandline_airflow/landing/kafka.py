"""Kafka as landing needs it: one barrier of watermarks, then exact offset ranges.

An Airflow connection of type `kafka` holds librdkafka's configuration as JSON in `extra`, as with
the official Kafka provider. Nothing here depends on consumer groups: offsets live in the lake.
"""

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
from strandline_airflow.landing.complaints import Complaints, Place, Unread, is_code, is_end

ANSWER_SECONDS = 10.0  # for one request, and so for an unreachable broker
PATIENCE_SECONDS = 30.0  # without one record or end of partition while a segment is read

_NO_TOPIC_ID = "A" * 22  # KIP-516's zero UUID: the broker has no ids
_MESSAGE_OVERHEAD = 100  # bytes; what a record costs beside its key, value and headers

_OF_ONE_TOPIC = (KafkaError.UNKNOWN_TOPIC_OR_PART, KafkaError.TOPIC_AUTHORIZATION_FAILED)

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
        self._complaints = Complaints(kafka_conn_id, self._config)
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
        return self._complaints.servers

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
        forbidden = {
            name: self._complaints.forbidden(name) for name in sorted(described.keys() - topics)
        }
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
                raise Transient(f"{place[0]}[{place[1]}]: {offset}; {self._complaints.where}")
        return {
            place: offset if isinstance(offset, int) and offset >= 0 else partitions[place].end
            for place, offset in found.items()
        }

    def topic_ids(self, topics: Collection[str]) -> dict[str, str]:
        """The ids of those topics that exist; `Terminal` where one may not be seen."""
        ids = {}
        for name, topic in self._describe(topics).items():
            if isinstance(topic, KafkaError):
                raise Terminal(self._complaints.forbidden(name))
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
        segments: dict[Place, Segment] = {(one.topic, one.partition): one for one in starts}
        chunk: dict[Place, list[Message]] = {}
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
            if not is_code(answer, KafkaError.UNKNOWN_TOPIC_OR_PART)
        }

    def _answer(self, future: Future[Any]) -> Any:
        """The future's result, or its error where it is of that one topic only."""
        try:
            return future.result()
        except KafkaException as error:
            if any(is_code(error.args[0], code) for code in _OF_ONE_TOPIC):
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
        segments: Mapping[Place, Segment],
        consumer: Consumer,
        refused: dict[Segment, str],
    ) -> Iterator[tuple[Place, Message]]:
        """Records up to the ends of the segments, each with its topic and partition.

        A range may end in a hole (an aborted transaction), so three things end it: its last offset,
        a record behind it, and the end of the partition at or behind it. A segment that the
        broker refuses is put into `refused` with the reason, and holds no other.
        """
        reading = dict(segments)
        deadline = time.monotonic() + self._patience_seconds
        while reading:
            # Complaints alone are silence, too, however many there are.
            if time.monotonic() > deadline:
                raise self._complaints.silent(reading.values(), self._patience_seconds)
            message = consumer.poll(0.5)
            if message is None:
                continue
            place = message.topic(), message.partition()
            offset, error = message.offset(), message.error()
            if error is not None and not is_end(error):
                for one in self._refused(reading, refused, place, error):
                    consumer.incremental_unassign([TopicPartition(one.topic, one.partition)])
                continue
            if offset is None:
                raise self._complaints.unreadable(place, error)
            segment = reading.get(place)
            if segment is None:
                continue  # was on its way when its partition was done
            if error is None and offset < segment.end:
                yield place, message
            if offset >= (segment.end - 1 if error is None else segment.end):
                del reading[place]
                consumer.incremental_unassign([TopicPartition(segment.topic, segment.partition)])
            deadline = time.monotonic() + self._patience_seconds

    def _refused(
        self,
        reading: dict[Place, Segment],
        refused: dict[Segment, str],
        place: Place,
        error: KafkaError,
    ) -> list[Segment]:
        """The segments that the error ends, of which `reading` has none any more.

        Those of the partition, or of the topic where the error names none. Raises `Transient` where
        a retry may help.
        """
        if is_code(error, KafkaError.GROUP_AUTHORIZATION_FAILED):
            return []  # librdkafka looks for the group by itself; only lag tools need it
        reason = self._complaints.refusal(place, error)
        if reason is None:
            raise self._complaints.unreadable(place, error)
        there = [each for each in reading if place in {each, (each[0], None)}]
        ended = [reading.pop(each) for each in there]
        refused.update(dict.fromkeys(ended, reason))
        return ended

    def _unreachable(self, error: KafkaError) -> Exception:
        self._admin.poll(0)  # hands over the complaints
        return self._complaints.unreachable(error)


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
