"""Delta tables whose appends are fenced: the bookkeeping of a source, without Spark.

An append carries *claims*: "of this id I have seen version `seen`, and I make it `becomes`". The
claims are application transactions of the commit itself (Delta protocol, action `txn`), so whoever
looked at an older state of the same id cannot commit: not a retry, not a zombie, not a second
scheduler. Checked by running with deltalake 1.6: the log refuses a commit that read an older
version of an id; what somebody else committed *between* two own commits is not refused, which is
why `append` compares what was seen as well.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

import pyarrow as pa
from deltalake import CommitProperties, DeltaTable, Transaction, WriterProperties, write_deltalake
from deltalake.exceptions import CommitFailedError, DeltaError

from strandline.alone.stores import tables
from strandline.alone.stores.faults import explained
from strandline.alone.stores.tables import (
    SHORT_LOG,
    Value,
    opened,
    storage_options,
)
from strandline.errors import Transient


class Superseded(Transient):
    """Somebody else has moved on what this commit was made from; look again, then decide."""


# Of a ledger of which manifests pin a version: a run that waits for weeks still finds it.
PINNED = ("delta.logRetentionDuration", "interval 30 days")

# The tables of ledgers by their URIs, as a task has found them, with its own commits: where a log
# is a folder on a disk, all of it is listed at each opening. Not for who looks again after a lost
# race.
Look = dict[str, DeltaTable]

# Rows of which Spark's tasks read the next ones side by side; a file is one task's else.
ROW_GROUP = 10_000
# Bytes of a Parquet page, which a reader holds whole. The writer looks at a page's size after each
# 1,024 values by itself, and a value may have 10 MB.
_PAGE = 1 << 20


@dataclass(frozen=True, slots=True)
class Claim:
    """Version `becomes` for an id that was seen at `seen` (None: never)."""

    id: str
    seen: int | None
    becomes: int


@dataclass(frozen=True, slots=True)
class Ledger:
    """A Delta table at `uri` with this Arrow schema, appended to under claims only.

    With a `look` it is opened once.
    """

    uri: str
    schema: pa.Schema
    partition_by: tuple[str, ...] = ()
    configuration: tuple[tuple[str, str], ...] = ()
    look: Look | None = field(default=None, compare=False)

    def ensure(self) -> DeltaTable:
        """The table, created where there is none; safe for two at once.

        Raises `Terminal` where the lake cannot be written.
        """
        found = self.open()
        if found is None:
            self._create()
            found = self.open()
        if found is None:
            raise Transient(f"{self.uri}: the lake's store does not show a table that it has taken")
        return found

    def _create(self) -> None:
        with explained(self.uri):
            try:
                DeltaTable.create(
                    self.uri,
                    self.schema,
                    partition_by=list(self.partition_by),
                    configuration={**SHORT_LOG, **dict(self.configuration)},
                    storage_options=storage_options(),
                    # Tried again after a lost race, a creation would become a second version.
                    commit_properties=CommitProperties(max_commit_retries=0),
                )
            except DeltaError:
                # Lost the race for version 0 where the table is there now, else a real failure.
                if self.open() is None:
                    raise

    def open(self) -> DeltaTable | None:
        """The table as it is now; None where there is none."""
        if self.look is None:
            return opened(self.uri)
        found = self.look.get(self.uri) or opened(self.uri)
        if found is not None:
            self.look[self.uri] = found
        return found

    def append(self, table: DeltaTable, rows: pa.Table, claims: Sequence[Claim]) -> None:
        """One commit with the rows, where every claim still stands; `table` then is that version.

        Rows may be none: the claims are committed all the same. Raises `Superseded`, and commits
        nothing, where a claim does not stand.
        """
        self._commit(table, rows, claims, "append")

    def replace(self, table: DeltaTable, rows: pa.Table, claims: Sequence[Claim]) -> None:
        """As `append`, with the rows in the place of all that there were."""
        self._commit(table, rows, claims, "overwrite")

    def tidy(self, table: DeltaTable) -> None:
        """Removes the files of versions that are older than a week."""
        with explained(self.uri):
            table.vacuum(retention_hours=168, dry_run=False)

    def _commit(
        self,
        table: DeltaTable,
        rows: pa.Table,
        claims: Sequence[Claim],
        mode: Literal["append", "overwrite"],
    ) -> None:
        for claim in claims:
            if table.transaction_version(claim.id) != claim.seen:
                raise _superseded(self.uri, claim)
        transactions = [Transaction(claim.id, claim.becomes) for claim in claims]
        with explained(self.uri):
            try:
                write_deltalake(
                    table,
                    rows,
                    mode=mode,
                    schema_mode=self._new_columns(table),
                    writer_properties=_properties(rows),
                    commit_properties=CommitProperties(app_transactions=transactions),
                )
            except CommitFailedError as error:
                if "Concurrent transaction" not in str(error):
                    raise
                raise _superseded(self.uri, claims[0]) from error

    def _new_columns(self, table: DeltaTable) -> Literal["merge"] | None:
        """How to write to a table that an older release made: with the columns that it lacks."""
        there = {column.name for column in table.schema().fields}
        return None if there.issuperset(self.schema.names) else "merge"

    def rows(self, table: DeltaTable, **equal: Value) -> list[dict[str, Any]]:
        """The rows whose columns have these values; the log says which files may have some."""
        where = " AND ".join(["true", *(f"{name} = :{name}" for name in equal)])
        return tables.rows(table, f"SELECT * FROM stored WHERE {where}", **equal)  # noqa: S608 - own names


def _properties(rows: pa.Table) -> WriterProperties:
    page = _PAGE * rows.num_rows // max(rows.nbytes, 1)
    return WriterProperties(
        compression="ZSTD",
        max_row_group_size=ROW_GROUP,
        write_batch_size=min(max(page, 1), 1024),
    )


def _superseded(uri: str, claim: Claim) -> Superseded:
    return Superseded(
        f"{uri}: another process has moved '{claim.id}' on from {claim.seen} while this one was "
        f"about to make it {claim.becomes}; nothing was committed, the next try sees the new state"
    )
