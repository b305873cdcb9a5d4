"""The landing zone of a source: raw records, the registry of partitions, and the gaps.

The next offset of a partition is an application transaction of the landing table itself, under the
id `topic_id/partition`: records and offset are one commit, so neither can be there without the
other. The registry says which ids to ask for, because a log can only be asked for an id by name.
"""

import logging
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from datetime import UTC, date, datetime
from itertools import accumulate
from typing import Any

import pyarrow as pa
from confluent_kafka import Message
from deltalake import DeltaTable

from strandline.alone.stores.landing import LANDING
from strandline.errors import Terminal
from strandline.runs.lake import SourceLake
from strandline.runs.segment import Gap, Landed, Segment, incarnation
from strandline_airflow.landing.complaints import Unread
from strandline_airflow.landing.kafka import KafkaSegments
from strandline_airflow.ledger import PINNED, Claim, Ledger, Look, Superseded

log = logging.getLogger(__name__)

# `timestamp` is Kafka's, in UTC: milliseconds there, microseconds in Delta, null where the record
# has none, or one that no calendar has: a producer may count nanoseconds, which 64 bits do not hold
# a thousand times. `timestamp_type` says who set it: 0 nobody, 1 the producer, 2 the broker.
_FIRST, _LAST = -62_135_596_800_000, 253_402_300_799_999  # milliseconds of the years 1 to 9999
_UNKNOWN = -1  # the leader epoch before an offset, as librdkafka has it
_COMMITS = 100  # among which the last landing is looked for

PARTITIONS = pa.schema(
    [
        pa.field("topic", pa.string(), nullable=False),
        pa.field("topic_id", pa.string(), nullable=False),
        pa.field("partition", pa.int32(), nullable=False),
        pa.field("first_offset", pa.int64(), nullable=False),
    ]
)
GAPS = pa.schema(
    [
        pa.field("topic", pa.string(), nullable=False),
        pa.field("topic_id", pa.string(), nullable=False),
        pa.field("partition", pa.int32(), nullable=False),
        pa.field("start", pa.int64(), nullable=False),
        pa.field("end", pa.int64(), nullable=False),
        pa.field("seen_at", pa.timestamp("us", "UTC"), nullable=False),  # the time of the run
        pa.field("recorded_at", pa.timestamp("us", "UTC")),  # null in rows of older releases
    ]
)

# Bytes of raw records that wait for their turn as Python objects; the rest of a commit is Arrow.
_SLICE_BYTES = 8 << 20


@dataclass(frozen=True, slots=True)
class Progress:
    """What became of one segment: everything before `next_offset` is landed.

    `rows` counts its records; of what an earlier try or a failed task had landed, the offsets.
    """

    topic: str
    topic_id: str
    partition: int
    next_offset: int
    rows: int


class LandingZone:
    """The three tables of a source that landing writes, as they are or at one `look`."""

    def __init__(self, lake: SourceLake, look: Look | None = None) -> None:
        self._landing = Ledger(
            lake.landing,
            LANDING,
            partition_by=("landed_date",),
            configuration=(
                # Statistics where readers filter, and none for the payload.
                ("delta.dataSkippingStatsColumns", "topic,topic_id,partition,offset,timestamp"),
                PINNED,
            ),
            look=look,
        )
        self._partitions = Ledger(lake.partitions, PARTITIONS, look=look)
        self._gaps = Ledger(lake.gaps, GAPS, look=look)

    def ensure(self) -> None:
        """Creates the tables that are missing."""
        for ledger in (self._landing, self._partitions, self._gaps):
            ledger.ensure()

    def landed(self) -> tuple[Landed, ...]:
        """How far every registered partition is landed."""
        return self.newest()[1]

    def newest(self) -> tuple[int | None, tuple[Landed, ...]]:
        """The newest version of the landing table, and how far every partition is landed there.

        The version is None where nothing was ever landed.
        """
        landing = self._landing.open()
        if landing is None:
            return None, ()
        known = [_moved_to(landing.transaction_version(_id(one)), one) for one in self.registered()]
        return landing.version(), tuple(known)

    def registered(self) -> tuple[Landed, ...]:
        """Every registered partition, as if nothing of it were landed."""
        registry = self._partitions.open()
        rows = () if registry is None else self._partitions.rows(registry)
        return tuple(Landed(**row, next_offset=row["first_offset"]) for row in rows)

    def progress(self, segments: Iterable[Segment]) -> tuple[Progress, ...]:
        """What has become of the segments so far, by the log."""
        table = self._landing.ensure()
        reached = {one: table.transaction_version(_id(one)) or 0 for one in segments}
        nexts = {one: min(max(offset, one.start), one.end) for one, offset in reached.items()}
        return tuple(
            Progress(one.topic, one.topic_id, one.partition, offset, offset - one.start)
            for one, offset in nexts.items()
        )

    def version(self) -> int | None:
        """The newest version of the landing table; None where nothing was ever landed."""
        table = self._landing.open()
        return None if table is None else table.version()

    def landed_at(self) -> datetime | None:
        """When something was landed last, by the log; None where nothing ever was."""
        table = self._landing.open()
        if table is None or not table.version():
            return None
        # An erasure, OPTIMIZE, VACUUM and retention commit to it as well, and land nothing.
        commits = table.history(_COMMITS)
        last = next((each for each in commits if each["operation"] == "WRITE"), commits[-1])
        return datetime.fromtimestamp(last["timestamp"] / 1000, UTC)

    def register(self, newcomers: Sequence[Landed]) -> None:
        """Adds partitions to the registry, once.

        Raises `Superseded` where another run is adding the same ones.
        """
        table = self._partitions.ensure()
        new = [one for one in newcomers if table.transaction_version(_id(one)) is None]
        if not new:
            return
        rows = [
            {name: value for name, value in asdict(one).items() if name in PARTITIONS.names}
            for one in new
        ]
        claims = [Claim(_id(one), None, one.first_offset) for one in new]
        self._partitions.append(table, pa.Table.from_pylist(rows, PARTITIONS), claims)

    def past_gaps(self, landed: Iterable[Landed]) -> tuple[Landed, ...]:
        """The same partitions, moved past the gaps that are on record already."""
        table = self._gaps.open()
        if table is None:
            return tuple(landed)
        return tuple(_moved_to(table.transaction_version(_id(one)), one) for one in landed)

    def record_gaps(
        self, gaps: Sequence[Gap], seen_at: datetime, recorded_at: datetime | None = None
    ) -> tuple[Gap, ...]:
        """Puts gaps on record, each once; returns all that the run of that time has recorded.

        `recorded_at` is later than `seen_at` where an old run is repeated: what a snapshot in
        between has read may have changed in the gap.
        """
        table = self._gaps.ensure()
        if gaps:
            times = {"seen_at": seen_at, "recorded_at": recorded_at}
            rows = [{**asdict(gap), **times} for gap in gaps]
            claims = [Claim(_id(gap), table.transaction_version(_id(gap)), gap.end) for gap in gaps]
            self._gaps.append(table, pa.Table.from_pylist(rows, GAPS), claims)
        recorded = (row for row in self._gaps.rows(table) if row["seen_at"] == seen_at)
        return tuple(
            Gap(**{name: row[name] for name in Gap.__dataclass_fields__}) for row in recorded
        )

    def land(
        self,
        kafka: KafkaSegments,
        segments: Sequence[Segment],
        day: date,
        byte_budget: int,
        before: Callable[[Sequence[pa.RecordBatch]], None] = lambda _: None,
    ) -> tuple[Progress, ...]:
        """Lands the segments, each whole and once, whoever else is landing them too.

        One commit holds about `byte_budget` bytes of records; `day` is the partition they go to.
        `before` is called with the records of each commit, right before it.
        """
        while True:
            run = _Run(self._landing, self._landing.ensure(), kafka, day, byte_budget, before)
            try:
                run.land(segments)
            except Superseded as overtaken:
                # Whoever overtook this pass has landed something of it: the next one is shorter.
                log.info("%s", overtaken)
                continue
            return tuple(
                Progress(one.topic, one.topic_id, one.partition, one.end, run.rows[one])
                for one in segments
            )


@dataclass(slots=True)
class _Run:
    """One pass over the segments from one look at the table; commits as it goes.

    `rows` counts what is landed of each segment. The next commit takes along `batches`, with
    `pending` rows of each segment, which is `reached` up to that offset then. `epochs` has
    the leader epoch of the record right before that offset, -1 where it ends in a hole.
    """

    ledger: Ledger
    table: DeltaTable
    kafka: KafkaSegments
    day: date
    byte_budget: int
    before: Callable[[Sequence[pa.RecordBatch]], None]
    rows: Counter[Segment] = field(default_factory=Counter)
    batches: list[pa.RecordBatch] = field(default_factory=list)
    pending: Counter[Segment] = field(default_factory=Counter)
    reached: dict[Segment, int] = field(default_factory=dict)
    epochs: dict[Segment, int] = field(default_factory=dict)

    def land(self, segments: Sequence[Segment]) -> None:
        seen = {segment: self.table.transaction_version(_id(segment)) for segment in segments}
        starts = {segment: max(segment.start, seen[segment] or 0) for segment in segments}
        self.rows.update({segment: starts[segment] - segment.start for segment in segments})
        missing = {one: start for one, start in starts.items() if start < one.end}
        for done in starts.keys() - missing.keys():
            log.info("%s is landed already", done)
        unread: Unread | None = None
        try:
            for chunk in self.kafka.consume(
                missing, min(_SLICE_BYTES, self.byte_budget), self._before(missing, seen)
            ):
                self._take(chunk)
                if sum(batch.nbytes for batch in self.batches) >= self.byte_budget:
                    self._commit(seen)
        except Unread as error:
            unread = error
        # A range may end in a hole: all of it counts as landed, up to its end.
        for one in missing.keys() - (unread.segments if unread else ()):
            if self.reached.get(one, seen[one]) != one.end:
                self.reached[one], self.epochs[one] = one.end, _UNKNOWN
        self._commit(seen)
        if unread:
            raise unread

    def _before(
        self, starts: Mapping[Segment, int], seen: Mapping[Segment, int | None]
    ) -> dict[Segment, int]:
        """Leader epochs of the records right before the starts, where they are landed."""
        known = {one: self._epoch(one) for one, start in starts.items() if start == seen[one]}
        return {one: epoch for one, epoch in known.items() if epoch not in {None, _UNKNOWN}}

    def _epoch(self, segment: Segment) -> int | None:
        return self.table.transaction_version(_epoch_id(segment))

    def _take(self, chunk: Mapping[Segment, Sequence[Message]]) -> None:
        for segment, messages in chunk.items():
            self.batches.append(_arrow(segment, messages, self.day))
            self.pending[segment] += len(messages)
            self.reached[segment] = (messages[-1].offset() or 0) + 1
            epoch = messages[-1].leader_epoch()
            self.epochs[segment] = _UNKNOWN if epoch is None else epoch

    def _commit(self, seen: dict[Segment, int | None]) -> None:
        if not self.reached:
            return
        self._check_incarnations()
        self.before(self.batches)
        rows = pa.Table.from_batches(self.batches, LANDING)
        claims = [Claim(_id(one), seen[one], offset) for one, offset in self.reached.items()]
        claims += [
            Claim(_epoch_id(one), self._epoch(one), self.epochs[one]) for one in self.reached
        ]
        self.ledger.append(self.table, rows, claims)
        seen.update(self.reached)
        self.rows += self.pending
        log.info(
            "Landed %d records, %d bytes, of %d partitions",
            rows.num_rows,
            rows.nbytes,
            len(self.reached),
        )
        for done in (self.batches, self.reached, self.pending, self.epochs):
            done.clear()

    def _check_incarnations(self) -> None:
        """A topic deleted and made again since the plan has the name, but not the records.

        An id never comes back, so being there after the reading is having been there all the time.
        """
        ids = self.kafka.topic_ids({segment.topic for segment in self.reached})
        for segment in self.reached:
            if ids.get(segment.topic) != incarnation(segment.topic_id):
                raise Terminal(
                    f"topic {segment.topic} is no longer the one with id {segment.topic_id} that "
                    "this run planned: it was deleted or re-created; the next run of this DAG "
                    "plans what is there then"
                )


def _arrow(segment: Segment, messages: Sequence[Message], day: date) -> pa.RecordBatch:
    """The records column by column; key, value and headers are the bytes that Kafka had."""
    stamps = [message.timestamp() for message in messages]
    alike = {
        "topic": segment.topic,
        "topic_id": segment.topic_id,
        "partition": segment.partition,
        "landed_date": day,
    }
    own = {
        "offset": [message.offset() for message in messages],
        "timestamp": [
            millis * 1000 if kind and _FIRST <= millis <= _LAST else None for kind, millis in stamps
        ],
        "timestamp_type": [kind for kind, _ in stamps],
        "leader_epoch": [message.leader_epoch() for message in messages],
        "key": [message.key() for message in messages],
        "value": [message.value() for message in messages],
    }
    # Pairs; what is produced may also be declared as a dict.
    headers: list[Any] = [message.headers() or () for message in messages]
    columns = {
        **{
            name: pa.repeat(pa.scalar(value, LANDING.field(name).type), len(messages))
            for name, value in alike.items()
        },
        **{name: pa.array(values, LANDING.field(name).type) for name, values in own.items()},
        "headers": _headers(headers),
    }
    return pa.RecordBatch.from_arrays([columns[name] for name in LANDING.names], schema=LANDING)


def _headers(of_messages: Sequence[Collection[tuple[str, bytes | None]]]) -> pa.ListArray:
    """All headers one after the other, and where those of each record end."""
    header = LANDING.field("headers").type.value_type
    ends = accumulate(map(len, of_messages), initial=0)
    flat = [each for headers in of_messages for each in headers]
    parts = [
        pa.array([each[place] for each in flat], header.field(place).type)
        for place in range(header.num_fields)
    ]
    pairs = pa.StructArray.from_arrays(parts, fields=list(header))
    return pa.ListArray.from_arrays(
        pa.array(ends, pa.int32()), pairs, type=LANDING.field("headers").type
    )


def _id(place: Segment | Landed | Gap) -> str:
    """The application id of a partition in the logs of all three tables."""
    return f"{place.topic_id}/{place.partition}"


def _epoch_id(segment: Segment) -> str:
    """The application id of the leader epoch of the record that was landed last."""
    return f"{_id(segment)}/leader_epoch"


def _moved_to(offset: int | None, landed: Landed) -> Landed:
    if offset is None or offset <= landed.next_offset:
        return landed
    return replace(landed, next_offset=offset)
