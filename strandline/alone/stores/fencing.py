"""Commits of runs: each carries the run's number as a transaction, and what the run noted.

Nothing is written to a table that has the run's number, or a later one, and delta-rs refuses a
commit whose transaction somebody else has committed since the table was looked at. Together that
lets a retry, a zombie or a second process change nothing.
"""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Literal

import pyarrow as pa
from deltalake import CommitProperties, DeltaTable, Schema, Transaction, write_deltalake
from deltalake.exceptions import CommitFailedError, DeltaError
from deltalake.transaction import create_table_with_add_actions

from strandline.alone.stores.datafiles import DataFile
from strandline.alone.stores.faults import explained
from strandline.alone.stores.tables import CHECKPOINTS, log_file, opened, storage_options
from strandline.errors import Transient
from strandline.runs import note

APPLICATION = "strandline"
_THERE = "already exists"  # what delta-rs says of a table that somebody has made meanwhile


class OvertakenError(Transient):
    """Somebody else has committed to the table since it was looked at: look again."""


@dataclass(frozen=True, slots=True)
class Kept:
    """A Delta table at `uri`, which runs write to under the name of an `application`.

    `partitions` and `properties` are those that it is made with.
    """

    uri: str
    application: str = APPLICATION
    partitions: Sequence[str] = ()
    properties: Mapping[str, str | None] = field(default_factory=dict)

    def open(self) -> DeltaTable | None:
        """The table at its newest version; None where there is none yet."""
        return opened(self.uri)

    def write(
        self,
        table: DeltaTable | None,
        rows: pa.Table,
        run: int,
        *,
        text: str | None = None,
        whole: bool = False,
    ) -> None:
        """One commit of the run: the rows beside what `table` has, or in its place if `whole`.

        `table` is as it was looked at, None where there was none; `OvertakenError` where it is
        another one now.
        """
        if applied(table, self.application) >= run:
            raise OvertakenError(f"{self.uri}: run {run} or a later one has committed to it")
        mode: Literal["error", "overwrite", "append"] = "overwrite" if whole else "append"
        columns: Literal["overwrite", "merge"] = "overwrite" if whole else "merge"
        with overtaken(self.uri):
            write_deltalake(
                self.uri if table is None else table,
                rows,
                mode="error" if table is None else mode,
                schema_mode=None if table is None else columns,
                partition_by=list(self.partitions) or None,
                configuration={**CHECKPOINTS, **self.properties},
                storage_options=storage_options(),
                commit_properties=commit(run, text, self.application, anew=table is None),
            )

    def add(  # noqa: PLR0913 - as `write`, and the columns that files do not tell
        self,
        table: DeltaTable | None,
        files: Sequence[DataFile],
        columns: pa.Schema,
        run: int,
        *,
        text: str | None = None,
        whole: bool = False,
    ) -> None:
        """The same of files that are there already, of rows with these columns."""
        if applied(table, self.application) >= run:
            raise OvertakenError(f"{self.uri}: run {run} or a later one has committed to it")
        actions = [file.action for file in files]
        with overtaken(self.uri):
            if table is None:
                create_table_with_add_actions(
                    self.uri,
                    Schema.from_arrow(columns),
                    actions,
                    mode="error",
                    partition_by=list(self.partitions),
                    configuration={**CHECKPOINTS, **self.properties},
                    storage_options=storage_options(),
                    commit_properties=commit(run, text, self.application, anew=True),
                )
            else:
                table.create_write_transaction(
                    [*actions],
                    "overwrite" if whole else "append",
                    Schema.from_arrow(columns),
                    list(self.partitions),
                    commit_properties=commit(run, text, self.application),
                )


@contextmanager
def overtaken(uri: str) -> Iterator[None]:
    """What delta-rs refuses because of somebody else's commit, as `OvertakenError`."""
    with explained(uri):
        try:
            yield
        except CommitFailedError as error:
            raise OvertakenError(
                f"{uri}: somebody else has committed to it meanwhile, or the lake's store lists "
                f"commits late ({error}): the next attempt looks again"
            ) from error
        except DeltaError as error:
            if _THERE not in str(error):
                raise
            raise OvertakenError(f"{uri}: {error}") from error


def applied(table: DeltaTable | None, application: str = APPLICATION) -> int:
    """The highest run that has committed to the table, -1 where none has."""
    found = None if table is None else table.transaction_version(application)
    return -1 if found is None else found


def commit(
    run: int, text: str | None = None, application: str = APPLICATION, *, anew: bool = False
) -> CommitProperties:
    """Of a commit of that run; `text` is for `notes` to find.

    `anew`: it makes the table. Tried again after a lost race, that would be a second version.
    """
    noted = None if text is None else {note.METADATA: note.written(run, text)}
    transactions = [Transaction(application, run)]
    if anew:
        return CommitProperties(
            app_transactions=transactions, custom_metadata=noted, max_commit_retries=0
        )
    return CommitProperties(app_transactions=transactions, custom_metadata=noted)


def noting(run: int, text: str) -> CommitProperties:
    """Of a commit that brings nothing but the note of a run."""
    return CommitProperties(custom_metadata={note.METADATA: note.written(run, text)})


def notes(table: DeltaTable) -> Iterator[tuple[int, str]]:
    """What runs left with their commits, newest first, as far as the log goes back."""
    for number in range(table.version(), -1, -1):
        text = log_file(table.table_uri, number)
        if text is None:
            return
        yield from note.of_commit(text)
