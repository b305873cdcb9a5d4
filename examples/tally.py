"""Adds up what the receipts of a source's runs say, table by table."""

from collections.abc import Iterable
from dataclasses import dataclass, replace

from strandline.runs.receipt import Counts, Receipt, TableReceipt

# These count what one run did; the other counts are the table's totals after it.
_PER_RUN = (
    "landed",
    "changes",
    "duplicates",
    "control",
    "quarantined",
    "rows_written",
    "rows_closed",
)


@dataclass(frozen=True, slots=True)
class TableTally:
    """One table over all runs. `landed` lists the records of each run that had some of it."""

    table: str
    topic: str
    counts: Counts
    seconds: float
    landed: tuple[int, ...]
    history_version: int
    errors: tuple[str, ...]


def tally(receipts: Iterable[Receipt]) -> tuple[TableTally, ...]:
    """The tables of the receipts, which are one source's in the order of its runs."""
    tables: dict[str, TableTally] = {}
    for receipt in receipts:
        for table in receipt.tables:
            before = tables.get(table.table)
            tables[table.table] = _added(before, table) if before else _first(table)
    return tuple(tables[name] for name in sorted(tables))


def _first(table: TableReceipt) -> TableTally:
    return TableTally(
        table=table.table,
        topic=table.topic,
        counts=table.counts,
        seconds=table.seconds,
        landed=(table.counts.landed,),
        history_version=table.history_version,
        errors=(table.error,) if table.error else (),
    )


def _added(before: TableTally, table: TableReceipt) -> TableTally:
    sums = {name: getattr(before.counts, name) + getattr(table.counts, name) for name in _PER_RUN}
    return TableTally(
        table=before.table,
        topic=before.topic,
        counts=replace(table.counts, **sums),
        seconds=before.seconds + table.seconds,
        landed=(*before.landed, table.counts.landed),
        history_version=table.history_version,
        errors=(*before.errors, table.error) if table.error else before.errors,
    )
