"""The publications of a source: per run one row for each table, in one commit.

A row says which version of the table's history belongs to the run and how far its topic is applied;
a table without news is carried forward, so the rows of one number are all the tables that belong
together. Topics without rows have a row with `table` null, for their offsets.

An order (see `orders`) applies nothing of what waits, so only compactions say whether a table is
held: an order that fails holds none, and one that succeeds leaves held what was so.

A table that does not meet what is expected of it (`strandline.runs.gate`) stays published as it
was, and is held. Its history has gone on: what a compaction has committed is not done again.
"""

from collections.abc import Iterable, Mapping
from typing import Any

import pyarrow as pa
from deltalake import DeltaTable

from strandline.alone.stores import nulls
from strandline.alone.stores.tables import rows
from strandline.errors import Transient
from strandline.runs.gate import Nulls
from strandline.runs.lake import SourceLake
from strandline.runs.manifest import PUBLICATION, Manifest, Work
from strandline.runs.receipt import Receipt
from strandline_airflow.ledger import Claim, Ledger, Look
from strandline_airflow.runs.publication import published
from strandline_airflow.runs.published import PUBLICATIONS, Published


class Publications:
    """The publications of one source, as they are or at one `look`."""

    def __init__(self, lake: SourceLake, look: Look | None = None) -> None:
        self._lake = lake
        self._ledger = Ledger(lake.publications, PUBLICATIONS, look=look)

    def last_number(self) -> int:
        """The number of the last published run; 0 where there is none."""
        table = self._ledger.open()
        return 0 if table is None else table.transaction_version(PUBLICATION) or 0

    def last(self) -> tuple[Published, ...]:
        """The rows of the last published run."""
        table = self._ledger.open()
        number = None if table is None else table.transaction_version(PUBLICATION)
        return () if table is None or number is None else self._of_run(table, number)

    def _of_run(self, table: DeltaTable, number: int) -> tuple[Published, ...]:
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
        after it, or after a release, began at `failed_at`. `covered` is the landing version of the
        newest good one whose offsets stand, so of none that was taken back. `orphans` are the
        halves of moves without a partner that the newest run counted which changed the table; since
        the one that began at `orphaned_at` every run that changed it has counted some.
        """
        found = self._asked(
            "SELECT topic, min(number) AS first, max(good) AS good,"
            " first_value(coalesce(began_at, planned_at) ORDER BY number)"
            " FILTER (WHERE work = :compact AND number > applied_by) AS failed_at,"
            " max(landing_version) FILTER (WHERE good > 0 AND applied = stands) AS covered,"
            " last_value(orphaned_moves ORDER BY number) FILTER (WHERE changed) AS orphans,"
            " first_value(coalesce(began_at, planned_at) ORDER BY number)"
            " FILTER (WHERE changed AND number > paired) AS orphaned_at"
            " FROM (SELECT *, coalesce(max(CASE WHEN good > 0 OR released_by IS NOT NULL"
            " THEN number END) OVER (PARTITION BY topic), 0) AS applied_by,"
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
        """The next offset to apply, by topic id and partition, after the last published run."""
        return applied(self.last())

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
        last = self._of_run(table, seen) if seen else ()
        times = {"began_at": manifest.began_at, "published_at": published_at}
        done = published(manifest, receipt, last, self._nulls)
        news = [{**row.to_row(), **times} for row in done]
        claim = Claim(PUBLICATION, seen, manifest.number)
        self._ledger.append(table, pa.Table.from_pylist(news, PUBLICATIONS), [claim])
        return True

    def _nulls(self, table: str, version: int, allowed: Mapping[str, float]) -> Nulls:
        return nulls.counted(self._lake.history(table), version, allowed)


def applied(rows: Iterable[Published]) -> dict[tuple[str, int], int]:
    """The next offset to apply, by topic id and partition; what is withheld is applied.

    `rows` are those of the last published run.
    """
    return {
        (topic_id, partition): offset
        for row in rows
        for topic_id, reached in row.reached.items()
        for partition, offset in reached.items()
    }
