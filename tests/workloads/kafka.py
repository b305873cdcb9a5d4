"""Kafka: messages become records in partitions; connectors die, resume and repeat themselves."""

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from zlib import crc32

from strandline.changes.record import Coordinates, Record
from workloads.choices import Choices
from workloads.emitters import Emitter
from workloads.messages import Message

_JUNK = (b'{"before":', b'{"op":"x","source":{"connector":"mysql"}}', b"\xff\xfe", b"[1]")


@dataclass
class Tally:
    """Law 6 as the simulator knows it."""

    changes: int = 0
    duplicates: int = 0
    control: int = 0
    quarantined: int = 0

    @property
    def landed(self) -> int:
        return self.changes + self.duplicates + self.control + self.quarantined


@dataclass
class Broker:
    """Stores what a connector sends. `now` is its clock in milliseconds."""

    choices: Choices
    emitter: Emitter
    now: int
    partitions: int
    records: list[Record] = field(default_factory=list)
    tally: Tally = field(default_factory=Tally)
    _ends: dict[tuple[str, int], int] = field(default_factory=lambda: defaultdict(int))
    _seen: set[object] = field(default_factory=set)
    _run: int = 0

    def deliver(self, messages: Sequence[Message], crashes: int) -> None:
        """All messages, with that many deaths of the connector on the way."""
        start, resumed = 0, False
        for _ in range(crashes):
            stop = self.choices.between(start, len(messages))
            stop = _whole(messages, stop)
            back = self._resumable(messages[:stop])
            resume = self.choices.pick(back) if back else stop
            self._until_death(messages[start:stop], max(0, resume - start), resumed=resumed)
            start, resumed = resume, True
            self._run += 1
        self.send(messages[start:], resumed=resumed)

    def send(self, messages: Sequence[Message], *, resumed: bool = False) -> None:
        """Messages in their order; `resumed`: the connector started again before the first."""
        first = messages[0] if resumed and messages else None
        for message in messages:
            self._store(message, first, self._partition(message))
            if self.choices.chance(40) and not message.snapshot and not message.fragile:
                self._store(message, first, self._partition(message))
            if self.choices.chance(60) and message.kind == "change":
                self._junk(message)

    def repeat(self, messages: Sequence[Message]) -> tuple[Record, ...]:
        """The records of one more resumption, from some row change to the end."""
        back = self._resumable(messages)
        before = len(self.records)
        self._run += 1
        sent = messages[self.choices.pick(back) :] if back else ()
        for message in sent:
            self._store(message, sent[0], self._partition(message))
        return tuple(self.records[before:])

    def _resumable(self, messages: Sequence[Message]) -> list[int]:
        """Where the connector may resume to repeat the last of these; the last place first.

        At the first message of a row change; not before the end of a snapshot; nowhere before a
        change that could not be told from its repetition.
        """
        places: list[int] = []
        for index in range(len(messages) - 1, -1, -1):
            message = messages[index]
            if message.snapshot or (message.fragile and not self.emitter.context):
                break
            if index == 0 or messages[index - 1].unit != message.unit:
                places.append(index)
        return places

    def _until_death(self, messages: Sequence[Message], unsure: int, *, resumed: bool) -> None:
        """What was sent before the death; of the part sent again some never arrived.

        Each partition has its own requests under way: of each the last ones may be lost.
        """
        first = messages[0] if resumed and messages else None
        for message in messages[:unsure]:
            self._store(message, first, self._partition(message))
        placed = [(message, self._partition(message)) for message in messages[unsure:]]
        lossy = not any(message.snapshot or message.fragile for message, _ in placed)
        lost = set()
        for message, partition in placed:
            place = (message.topic, partition)
            if lossy and self.choices.chance(8):
                lost.add(place)
            if place not in lost:
                self._store(message, first, partition)

    def _store(self, message: Message, first: Message | None, partition: int) -> None:
        """`first`: the message at which the connector resumed, None in its first run."""
        self.now += 1
        emitter = self.emitter
        place = (message.topic, partition)
        offset = self._ends[place] + self.choices.chance(30)  # an aborted transaction leaves a gap
        self._ends[place] = offset + 1
        again = message.change is not None and message.change in self._seen
        value = self._stamped(message, first) if message.value is not None else None
        converter = emitter.converter
        self.records.append(
            Record(
                Coordinates(message.topic, partition, offset),
                self.now,
                converter.key(message.table, message.key),
                converter.value(message.table, value),
                self._headers(message),
            )
        )
        self._count(message, again=again)

    def _headers(self, message: Message) -> tuple[tuple[str, bytes], ...]:
        table, header = message.table, self.emitter.converter.header
        moves = [(name, header(table, key)) for name, key in message.headers]
        if not self.emitter.context or table is None:
            return tuple(moves)
        context = {"connectorLogicalName": self.emitter.prefix, "runId": f"run-{self._run}"}
        named = [(f"__debezium.context.{name}", text.encode()) for name, text in context.items()]
        return (*moves, *named)

    def _count(self, message: Message, *, again: bool) -> None:
        if message.kind == "control":
            self.tally.control += 1
        elif again:
            self.tally.duplicates += 1
        else:
            self.tally.changes += 1
        self._seen.add(message.change)

    def _stamped(self, message: Message, first: Message | None) -> dict:
        """The value with what differs from one sending to the next."""
        value = dict(message.value)
        if "aggregate_type" in value:
            return value | {"timestamp": self.now}
        value["ts_ms"] = self.now
        if first is None:
            return value
        if message.again:
            value["source"] = {**value["source"], **message.again}
        restarts = self.emitter.release < (3, 7) and first.order is not None
        if restarts and message.order is not None and message.tx == first.tx:
            order = message.order - first.order + 1
            value["transaction"] = {**value["transaction"], "total_order": order}
        return value

    def _partition(self, message: Message) -> int:
        if message.key is None:
            return self.choices.below(self.partitions)
        return crc32(self.emitter.converter.key(message.table, message.key)) % self.partitions

    def _junk(self, message: Message) -> None:
        """A record that nobody can read, under a key of its own."""
        self.now += 1
        partition = self.choices.below(self.partitions)
        offset = self._ends[message.topic, partition]
        self._ends[message.topic, partition] += 1
        at = Coordinates(message.topic, partition, offset)
        self.records.append(Record(at, self.now, b'{"id":77}', self.choices.pick(_JUNK)))
        self.tally.quarantined += 1


def _whole(messages: Sequence[Message], stop: int) -> int:
    """Where a connector may die. In a snapshot it would start that anew; let it live until its end.

    Likewise in a transaction of which a part sent again could not be told from what follows
    (docs/facts/questions.md, A1).
    """
    while 0 < stop < len(messages) and (
        messages[stop].snapshot
        or (messages[stop].fragile and messages[stop].tx == messages[stop - 1].tx)
    ):
        stop += 1
    return stop


def arrival(choices: Choices, records: Iterable[Record]) -> list[Record]:
    """The records as a reader may get them: each partition in order, some of them late."""
    numbered = list(enumerate(records))
    places = sorted({(record.at.topic, record.at.partition) for _, record in numbered})
    late = {place: choices.below(2 + len(numbered)) for place in places}
    ordered = sorted(
        numbered, key=lambda each: each[0] + late[each[1].at.topic, each[1].at.partition]
    )
    return [record for _, record in ordered]
