"""The publications of a source: per run one row for each table, in one commit.

A row says which version of the table's history belongs to the run and how far its topic is applied;
a table without news is carried forward, so the rows of one number are all the tables that belong
together. Topics without rows have a row with `table` null, for their offsets.

An order (see `orders`) applies nothing of what waits, so only compactions say whether a table is
held: an order that fails holds none, and one that succeeds leaves held what was so.
"""

import json
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, field, replace
from typing import Any

import pyarrow as pa

from strandline.alone.stores.tables import rows
from strandline.errors import Transient
from strandline.runs.lake import SourceLake
from strandline.runs.manifest import PUBLICATION, Manifest, OffsetRange, Work
from strandline.runs.receipt import Counts, Receipt, TableReceipt
from strandline.runs.segment import Landed
from strandline_airflow.ledger import Claim, Ledger

_COUNTS = tuple(Counts.__dataclass_fields__)

PUBLICATIONS = pa.schema(
    [
        pa.field("number", pa.int64(), nullable=False),
        pa.field("work", pa.string(), nullable=False),
        pa.field("table", pa.string()),
        pa.field("topic", pa.string(), nullable=False),
        pa.field("history_version", pa.int64(), nullable=False),
        pa.field("changed", pa.bool_(), nullable=False),
        pa.field("applied", pa.string(), nullable=False),
        *(pa.field(name, pa.int64(), nullable=False) for name in _COUNTS),
        pa.field("orphaned_moves", pa.int64(), nullable=False),
        pa.field("seconds", pa.float64(), nullable=False),
        pa.field("error", pa.string()),
        pa.field("held", pa.string()),
        pa.field("planned_at", pa.string(), nullable=False),
        pa.field("landing_version", pa.int64(), nullable=False),
        pa.field("began_at", pa.string()),  # null, as what follows, in rows of older releases
        pa.field("published_at", pa.string()),
    ]
)


@dataclass(frozen=True, slots=True)
class Published:
    """One row. `applied` maps topic id and partition to the next offset to apply.

    `planned_at` is the time that the run was due, `began_at` and `published_at` those of the clock,
    None of runs of an older release; `seconds` is how long the work on the table took.
    `error` says why this run failed on the table. `held` says why what is landed of it waits: the
    error of the last compaction that had it in its cut, None where that applied it.
    """

    number: int
    work: Work
    table: str | None
    topic: str
    planned_at: str
    landing_version: int
    applied: Mapping[str, Mapping[int, int]]
    counts: Counts = field(default_factory=Counts)
    history_version: int = -1
    changed: bool = False
    orphaned_moves: int = 0
    seconds: float = 0.0
    error: str | None = None
    held: str | None = None
    began_at: str | None = None
    published_at: str | None = None

    def to_row(self) -> dict[str, Any]:
        """The row as `PUBLICATIONS` has it; `applied` is JSON, the same for the same offsets."""
        row = asdict(self)
        counts = row.pop("counts")
        return {**row, **counts, "applied": json.dumps(self.applied, sort_keys=True)}

    def lag(self, landed: Iterable[Landed]) -> int:
        """How many offsets of the topic are landed, but not applied."""
        own = (one for one in landed if one.topic == self.topic)
        return sum(max(one.next_offset - self.next_of(one), 0) for one in own)

    def next_of(self, of: Landed) -> int:
        """The offset of a landed partition that is to be applied next."""
        return self.applied.get(of.topic_id, {}).get(of.partition, of.first_offset)

    @staticmethod
    def from_row(row: Mapping[str, Any]) -> "Published":
        """The row that `to_row` made."""
        rest = {name: value for name, value in row.items() if name not in _COUNTS}
        applied = {
            topic_id: {int(partition): offset for partition, offset in offsets.items()}
            for topic_id, offsets in json.loads(rest.pop("applied")).items()
        }
        counts = Counts(**{name: row[name] for name in _COUNTS})
        work = Work(rest.pop("work"))
        return Published(**rest, work=work, applied=applied, counts=counts)


class Publications:
    """The publications of one source."""

    def __init__(self, lake: SourceLake) -> None:
        self._ledger = Ledger(lake.publications, PUBLICATIONS)

    def last_number(self) -> int:
        """The number of the last published run; 0 where there is none."""
        table = self._ledger.open()
        return 0 if table is None else table.transaction_version(PUBLICATION) or 0

    def last(self) -> tuple[Published, ...]:
        """The rows of the last published run."""
        table = self._ledger.open()
        number = None if table is None else table.transaction_version(PUBLICATION)
        if table is None or number is None:
            return ()
        return tuple(map(Published.from_row, self._ledger.rows(table, number=number)))

    def last_of(self, work: Work) -> int:
        """The number of the last published run of that work; 0 where there is none."""
        table = self._ledger.open()
        sql = "SELECT max(number) AS number FROM stored WHERE work = :work"
        return 0 if table is None else rows(table, sql, work=work)[0]["number"] or 0

    def runs(self, last: int) -> list[dict[str, Any]]:
        """The last runs, the newest first: what their tables add up to, by number."""
        return self._asked(
            "SELECT number, min(work) AS work, min(planned_at) AS planned_at,"
            " min(began_at) AS began_at, min(published_at) AS published_at,"
            " min(landing_version) AS landing_version,"
            " sum(landed) AS landed, sum(rows_written) AS rows_written,"
            " sum(quarantined) AS quarantined, max(seconds) AS seconds, count(error) AS failed"
            " FROM stored WHERE number > :after GROUP BY number ORDER BY number DESC",
            last,
        )

    def marks(self, last: int) -> dict[str, dict[str, Any]]:
        """By topic, of the last runs: the `first` that has it, the newest `good` one.

        A good one is a compaction that left nothing of the topic waiting; the first compaction
        after it began at `failed_at`. `covered` is the landing version of the newest good one
        whose offsets stand, so of none that was taken back. `orphans` are the halves of moves
        without a partner that the newest run counted which changed the table; since the one that
        began at `orphaned_at` every run that changed it has counted some.
        """
        found = self._asked(
            "SELECT topic, min(number) AS first, max(good) AS good,"
            " first_value(coalesce(began_at, planned_at) ORDER BY number)"
            " FILTER (WHERE work = :compact AND number > applied_by) AS failed_at,"
            " max(landing_version) FILTER (WHERE good > 0 AND applied = stands) AS covered,"
            " last_value(orphaned_moves ORDER BY number) FILTER (WHERE changed) AS orphans,"
            " first_value(coalesce(began_at, planned_at) ORDER BY number)"
            " FILTER (WHERE changed AND number > paired) AS orphaned_at"
            " FROM (SELECT *, coalesce(max(good) OVER (PARTITION BY topic), 0) AS applied_by,"
            " max(CASE WHEN number = :newest THEN applied END) OVER (PARTITION BY topic) AS stands,"
            " coalesce(max(CASE WHEN changed AND orphaned_moves = 0"
            " THEN number END) OVER (PARTITION BY topic), 0) AS paired"
            " FROM (SELECT *, CASE WHEN work = :compact AND held IS NULL THEN number END AS good"
            " FROM stored WHERE number > :after)) GROUP BY topic",
            last,
            compact=Work.COMPACT,
        )
        return {row.pop("topic"): row for row in found}

    def of(self, table: str, last: int) -> tuple[Published, ...]:
        """What the last runs did to a table, the newest first; none where it had no news."""
        found = self._asked(
            'SELECT * FROM stored WHERE number > :after AND "table" = :table'
            " AND (landed > 0 OR changed OR error IS NOT NULL) ORDER BY number DESC",
            last,
            table=table,
        )
        return tuple(map(Published.from_row, found))

    def _asked(self, sql: str, last: int, **values: str) -> list[dict[str, Any]]:
        table = self._ledger.open()
        number = None if table is None else table.transaction_version(PUBLICATION)
        if table is None or number is None:
            return []
        lacking = set(PUBLICATIONS.names) - {column.name for column in table.schema().fields}
        if lacking:  # until a run of this release is published
            nothing = ", ".join(f"CAST(NULL AS VARCHAR) AS {name}" for name in sorted(lacking))
            sql = sql.replace("FROM stored", f"FROM (SELECT *, {nothing} FROM stored)")  # noqa: S608 - own words
        return rows(table, sql, after=number - last, newest=number, **values)

    def applied(self) -> dict[tuple[str, int], int]:
        """The next offset to apply, by topic id and partition."""
        return {
            (topic_id, partition): offset
            for row in self.last()
            for topic_id, offsets in row.applied.items()
            for partition, offset in offsets.items()
        }

    def publish(
        self, manifest: Manifest, receipt: Receipt, published_at: str | None = None
    ) -> bool:
        """Puts the run on record in one commit; False where it was there already.

        Raises `Transient` where the run before it is not published.
        """
        table = self._ledger.ensure()
        seen = table.transaction_version(PUBLICATION)
        if (seen or 0) >= manifest.number:
            return False
        if (seen or 0) != manifest.number - 1:
            raise Transient(
                f"run {manifest.number} of {manifest.source} cannot be published: the last "
                f"published one is {seen or 0}"
            )
        times = {"began_at": manifest.began_at, "published_at": published_at}
        done = published(manifest, receipt, self.last())
        news = [{**row.to_row(), **times} for row in done]
        claim = Claim(PUBLICATION, seen, manifest.number)
        self._ledger.append(table, pa.Table.from_pylist(news, PUBLICATIONS), [claim])
        return True


def published(
    manifest: Manifest, receipt: Receipt, before: Iterable[Published]
) -> tuple[Published, ...]:
    """The rows of a run: what it did to its tables, and the others as they were `before`."""
    carried = {row.topic: _carried(row, manifest) for row in before}
    receipts = {one.table: one for one in receipt.tables}
    compacts = manifest.work is Work.COMPACT
    for cut in manifest.tables:
        old = carried.get(cut.topic) or _first(manifest, cut.table, cut.topic)
        # What came since a run that is taken back is applied again, of new partitions as well.
        start = {} if manifest.work is Work.UNDO else old.applied
        applied = _advanced(start, cut.ranges if manifest.applies else ())
        row = _applied(old, receipts.get(cut.table), applied)
        carried[cut.topic] = replace(row, held=row.error) if compacts else row
    for offsets in manifest.control if manifest.applies else ():
        old = carried.get(offsets.topic) or _first(manifest, None, offsets.topic)
        carried[offsets.topic] = replace(old, applied=_advanced(old.applied, [offsets]))
    return tuple(carried[topic] for topic in sorted(carried))


def _first(manifest: Manifest, table: str | None, topic: str) -> Published:
    return Published(
        number=manifest.number,
        work=manifest.work,
        table=table,
        topic=topic,
        planned_at=manifest.planned_at,
        landing_version=manifest.landing_version,
        applied={},
    )


def _carried(row: Published, manifest: Manifest) -> Published:
    """The row of a table that had no news: how it stood, and nothing was counted in this run."""
    return replace(
        _first(manifest, row.table, row.topic),
        applied=row.applied,
        counts=Counts(history_rows=row.counts.history_rows, current_rows=row.counts.current_rows),
        history_version=row.history_version,
        held=row.held,
    )


def _applied(
    old: Published, receipt: TableReceipt | None, applied: Mapping[str, Mapping[int, int]]
) -> Published:
    """The row after the run; a table that failed stays where it was and says why."""
    if receipt is None:
        return replace(old, error="the run's receipt does not mention this table")
    if receipt.error is not None:
        # An erasure that found something afterwards has ended the version before it all the same.
        left = max(receipt.history_version, old.history_version)
        return replace(old, error=receipt.error, seconds=receipt.seconds, history_version=left)
    return replace(
        old,
        table=receipt.table,
        applied=applied,
        counts=receipt.counts,
        history_version=receipt.history_version,
        changed=receipt.changed,
        orphaned_moves=receipt.orphaned_moves,
        seconds=receipt.seconds,
    )


def _advanced(
    applied: Mapping[str, Mapping[int, int]], ranges: Iterable[OffsetRange]
) -> dict[str, dict[int, int]]:
    advanced = {topic_id: dict(offsets) for topic_id, offsets in applied.items()}
    for offsets in ranges:
        advanced.setdefault(offsets.topic_id, {})[offsets.partition] = offsets.end
    return advanced
