"""The landing zone of a source: raw records, the registry of partitions, and the gaps.

The next offset of a partition is an application transaction of the landing table itself, under the
id `topic_id/partition`: records and offset are one commit, so neither can be there without the
other. The registry says which ids to ask for, because a log can only be asked for an id by name.
"""

import logging
from collections.abc import Callable, Iterable, Sequence
from dataclasses import asdict, dataclass, replace
from datetime import UTC, date, datetime

import pyarrow as pa

from strandline.alone.stores.landing import LANDING
from strandline.runs.lake import SourceLake
from strandline.runs.segment import Gap, Landed, Segment
from strandline_airflow.landing.kafka import KafkaSegments
from strandline_airflow.landing.passage import Passage, identity
from strandline_airflow.ledger import PINNED, Claim, Ledger, Look, Superseded

log = logging.getLogger(__name__)

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
        known = [
            _moved_to(landing.transaction_version(identity(one)), one) for one in self.registered()
        ]
        return landing.version(), tuple(known)

    def registered(self) -> tuple[Landed, ...]:
        """Every registered partition, as if nothing of it were landed."""
        registry = self._partitions.open()
        rows = () if registry is None else self._partitions.rows(registry)
        return tuple(Landed(**row, next_offset=row["first_offset"]) for row in rows)

    def progress(self, segments: Iterable[Segment]) -> tuple[Progress, ...]:
        """What has become of the segments so far, by the log."""
        table = self._landing.ensure()
        reached = {one: table.transaction_version(identity(one)) or 0 for one in segments}
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
        new = [one for one in newcomers if table.transaction_version(identity(one)) is None]
        if not new:
            return
        rows = [
            {name: value for name, value in asdict(one).items() if name in PARTITIONS.names}
            for one in new
        ]
        claims = [Claim(identity(one), None, one.first_offset) for one in new]
        self._partitions.append(table, pa.Table.from_pylist(rows, PARTITIONS), claims)

    def past_gaps(self, landed: Iterable[Landed]) -> tuple[Landed, ...]:
        """The same partitions, moved past the gaps that are on record already."""
        table = self._gaps.open()
        if table is None:
            return tuple(landed)
        return tuple(_moved_to(table.transaction_version(identity(one)), one) for one in landed)

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
            claims = [
                Claim(identity(gap), table.transaction_version(identity(gap)), gap.end)
                for gap in gaps
            ]
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
            run = Passage(self._landing, self._landing.ensure(), kafka, day, byte_budget, before)
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


def _moved_to(offset: int | None, landed: Landed) -> Landed:
    if offset is None or offset <= landed.next_offset:
        return landed
    return replace(landed, next_offset=offset)
