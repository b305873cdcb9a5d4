"""Delta tables whose appends are fenced: the bookkeeping of a source, without Spark.

An append carries *claims*: "of this id I have seen version `seen`, and I make it `becomes`". The
claims are application transactions of the commit itself (Delta protocol, action `txn`), so whoever
looked at an older state of the same id cannot commit: not a retry, not a zombie, not a second
scheduler. Checked by running with deltalake 1.6: the log refuses a commit that read an older
version of an id; what somebody else committed *between* two own commits is not refused, which is
why `append` compares what was seen as well.
"""

import json
import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import pyarrow as pa
from deltalake import CommitProperties, DeltaTable, Transaction, WriterProperties, write_deltalake
from deltalake.exceptions import CommitFailedError, DeltaError, TableNotFoundError

from strandline.errors import Terminal, Transient

STORAGE_VARIABLE = "STRANDLINE_STORAGE_OPTIONS"

# What a file system or an object store says where the same call cannot succeed later.
_DENIED = (
    "Could not create local directory",
    "Not a directory",
    "Permission denied",
    "Read-only file system",
    "AccessDenied",
    "Forbidden",
    "Unauthorized",
    "Unknown scheme",
)


class Superseded(Transient):
    """Somebody else has moved on what this commit was made from; look again, then decide."""


@dataclass(frozen=True, slots=True)
class Claim:
    """Version `becomes` for an id that was seen at `seen` (None: never)."""

    id: str
    seen: int | None
    becomes: int


@dataclass(frozen=True, slots=True)
class Ledger:
    """A Delta table at `uri` with this Arrow schema, appended to under claims only."""

    uri: str
    schema: pa.Schema
    partition_by: tuple[str, ...] = ()
    configuration: tuple[tuple[str, str], ...] = ()

    def ensure(self) -> DeltaTable:
        """The table, created where there is none; safe for two at once.

        Raises `Terminal` where the lake cannot be written.
        """
        found = self.open()
        if found is not None:
            return found
        with _explained(self.uri):
            try:
                return DeltaTable.create(
                    self.uri,
                    self.schema,
                    partition_by=list(self.partition_by),
                    configuration=dict(self.configuration),
                    storage_options=_storage_options(),
                    # Tried again after a lost race, a creation would become a second version.
                    commit_properties=CommitProperties(max_commit_retries=0),
                )
            except DeltaError:
                # Lost the race for version 0 where the table is there now, else a real failure.
                found = self.open()
                if found is None:
                    raise
                return found

    def open(self, version: int | None = None) -> DeltaTable | None:
        """The table at a version or at its newest; None where there is no such table."""
        with _explained(self.uri):
            try:
                return DeltaTable(self.uri, version=version, storage_options=_storage_options())
            except TableNotFoundError as error:
                if _is_denied(error):
                    raise
                return None

    def append(self, table: DeltaTable, rows: pa.Table, claims: Sequence[Claim]) -> None:
        """One commit with the rows, where every claim still stands; `table` then is that version.

        Rows may be none: the claims are committed all the same. Raises `Superseded`, and commits
        nothing, where a claim does not stand.
        """
        for claim in claims:
            if table.transaction_version(claim.id) != claim.seen:
                raise _superseded(self.uri, claim)
        transactions = [Transaction(claim.id, claim.becomes) for claim in claims]
        with _explained(self.uri):
            try:
                write_deltalake(
                    table,
                    rows,
                    mode="append",
                    writer_properties=WriterProperties(compression="ZSTD"),
                    commit_properties=CommitProperties(app_transactions=transactions),
                )
            except CommitFailedError as error:
                if "Concurrent transaction" not in str(error):
                    raise
                raise _superseded(self.uri, claims[0]) from error

    def rows(self, table: DeltaTable, **equal: object) -> list[dict[str, Any]]:
        """The rows whose columns have these values; for small tables."""
        filters = [(name, "=", value) for name, value in equal.items()]
        with _explained(self.uri):
            return table.to_pyarrow_table(filters=filters or None).to_pylist()


def _superseded(uri: str, claim: Claim) -> Superseded:
    return Superseded(
        f"{uri}: another process has moved '{claim.id}' on from {claim.seen} while this one was "
        f"about to make it {claim.becomes}; nothing was committed, the next try sees the new state"
    )


@contextmanager
def _explained(uri: str) -> Iterator[None]:
    """delta-rs's errors as ours, with the place and what to do."""
    try:
        yield
    except (DeltaError, OSError) as error:
        first_line = str(error).replace("\n", " ").strip()
        if _is_denied(error):
            raise Terminal(
                f"the lake cannot be used at {uri}: {first_line}; make it a folder or store that "
                "this process may write, or set another root (STRANDLINE_LAKE, or 'lake' in the "
                "source's file)"
            ) from error
        raise Transient(f"Delta table {uri}: {first_line}") from error


def _is_denied(error: Exception) -> bool:
    return any(sign in str(error) for sign in _DENIED)


def _storage_options() -> dict[str, str] | None:
    """Options for an object store from the environment, as JSON; by default its usual variables."""
    text = os.environ.get(STORAGE_VARIABLE)
    return json.loads(text) if text else None
