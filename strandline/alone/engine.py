"""The engine for `strandline history --engine alone`: real runs on a lake of their own.

The capture is landed and compacted in as many runs as asked for, in a temporary folder, by the same
code that a deployment runs.
"""

import tempfile
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow as pa

from strandline.alone.capture import SOURCE, CaptureLake
from strandline.alone.stores.tables import opened, rows, selected
from strandline.cells.values import single
from strandline.changes.change import Quarantined
from strandline.changes.record import Coordinates, Record
from strandline.changes.version import COLUMNS, INTERNAL_COLUMNS
from strandline.engine import Outcome, cut, recorded_at, rules
from strandline.errors import Terminal
from strandline.formats.registry.schemas import NONE, Schemas
from strandline.law import total
from strandline.runs.lake import SourceLake
from strandline.runs.receipt import Counts, Receipt, TableReceipt
from strandline.sources.source import Source

Rows = Sequence[tuple[str, Mapping[str, object]]]  # topic and cells of each row

_META = [name for name, _ in COLUMNS]
_INTERNAL = {name for name, _ in INTERNAL_COLUMNS}


def alone(
    records: Sequence[Record], *, batches: int, source: Source | None, schemas: Schemas = NONE
) -> Outcome:
    """Lands and compacts the records; `source` None: they say themselves whose they are.

    `schemas` are those that records may name.
    """
    with tempfile.TemporaryDirectory(prefix="strandline-") as folder:
        capture = CaptureLake(
            SourceLake(Path(folder).as_posix(), SOURCE),
            source.connector if source else None,
            recorded_at(records),
            rules(source),
            schemas,
        )
        receipts = list(capture.runs(cut(records, batches)))
        return outcome(list(histories(capture.lake, receipts)), capture.lake, receipts)


def outcome(found: Rows, lake: SourceLake, receipts: Sequence[Receipt]) -> Outcome:
    """What runs came to that have left these receipts, and histories with these rows."""
    return Outcome(
        found, _quarantined(lake), _counts(receipts), _stopped(receipts), _doubtful(receipts)
    )


def histories(
    lake: SourceLake, receipts: Iterable[Receipt]
) -> Iterator[tuple[str, Mapping[str, object]]]:
    """The rows of the histories by topic, key and position, without what serves the engine."""
    topics = {table.topic for receipt in receipts for table in receipt.tables if table.changed}
    for topic in sorted(topics):
        table = opened(lake.history(topic))
        if table is None:
            continue
        found = selected(table, "SELECT * FROM stored ORDER BY _key, _seq_from")
        narrow = {field.name for field in found.schema if pa.types.is_float32(field.type)}
        for row in found.to_pylist():
            business = [name for name in row if name not in {*_META, *_INTERNAL}]
            yield (
                topic,
                {name: _cell(row[name], narrow=name in narrow) for name in (*business, *_META)},
            )


def _cell(value: Any, *, narrow: bool) -> object:
    """A float of 32 bits is handed over as one of 64, with digits that nobody sent."""
    return single(value) if narrow and value is not None else value


def _doubtful(receipts: Iterable[Receipt]) -> list[tuple[str, str]]:
    """The tables whose history may be wrong, and when it is."""
    first: dict[str, str] = {}
    for table in (table for receipt in receipts for table in receipt.tables):
        if table.regress is not None:
            first.setdefault(table.topic, table.regress)
    return sorted(first.items())


def _stopped(receipts: Iterable[Receipt]) -> list[tuple[str, str]]:
    """The tables that the last run left behind, and why; other faults are raised."""
    last: dict[str, TableReceipt] = {t.topic: t for r in receipts for t in r.tables}
    failed = {topic: table for topic, table in last.items() if table.error is not None}
    for topic, table in failed.items():
        if table.transient:
            raise Terminal(f"{topic}: {table.error}")
    return [(topic, str(table.error)) for topic, table in sorted(failed.items())]


def _counts(receipts: Sequence[Receipt]) -> Counts:
    """Law 6 over all runs; rows as they stand after the last."""
    tables = [table for receipt in receipts for table in receipt.tables]
    last = {table.topic: table.counts for table in tables}
    control = sum(receipt.control for receipt in receipts)
    summed = total([*(table.counts for table in tables), Counts(landed=control, control=control)])
    return replace(
        summed,
        history_rows=sum(each.history_rows for each in last.values()),
        current_rows=sum(each.current_rows for each in last.values()),
    )


def _quarantined(lake: SourceLake) -> list[Quarantined]:
    """What the quarantine has, in the order of its coordinates."""
    table = opened(lake.quarantine)
    sql = 'SELECT topic, partition, "offset", reason, detail FROM stored'
    found = [] if table is None else rows(table, sql + ' ORDER BY topic, partition, "offset"')
    return [
        Quarantined(
            Coordinates(row["topic"], row["partition"], row["offset"]),
            row["reason"],
            row["detail"] or "",
        )
        for row in found
    ]
