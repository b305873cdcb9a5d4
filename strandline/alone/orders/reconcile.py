"""Work `reconcile`: the rows that a history says were there at a moment, against the source's own.

Differences are listed in a table of the lake and, where it is ordered, set right. Keys that changed
after the moment are told apart, and never corrected: the snapshot may have been read just before
or just after the change. Corrections are put on record beside the table's records, of which the
history is made then as of any others.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any

import pyarrow as pa
from deltalake import DeltaTable

from strandline.alone.stores import fencing, history, noted, records, snapshot
from strandline.alone.stores.control import Control
from strandline.alone.stores.fencing import Kept
from strandline.alone.stores.tables import opened, rows, whole
from strandline.alone.table import TableRun
from strandline.cells import casting
from strandline.cells.types import ColumnType
from strandline.changes.columns import KEY, SEQ_FROM, SEQ_TO, VALID_FROM, VALID_TO
from strandline.changes.key import canonical, names
from strandline.changes.record import Record
from strandline.errors import Terminal
from strandline.law import corrections
from strandline.law.corrections import correction
from strandline.runs.manifest import Manifest, TableCut
from strandline.runs.receipt import TableReceipt
from strandline.runs.reconciliation import (
    DIFFERENT,
    EQUAL,
    NOT_IN_HISTORY,
    NOT_IN_SOURCE,
    Reconciliation,
)

_DIFFERENCES = pa.schema(
    [
        ("table", pa.string()),
        ("key", pa.string()),
        ("kind", pa.string()),
        ("columns", pa.list_(pa.string())),
        ("changed_since", pa.bool_()),
        ("as_of", pa.timestamp("us", "UTC")),
        ("run", pa.int32()),
    ]
)

_TIMES = f"SELECT {VALID_FROM}, {SEQ_FROM}, {VALID_TO}, {SEQ_TO} FROM stored"  # noqa: S608

_Row = Mapping[str, Any]


def reconciled(manifest: Manifest, cut: TableCut, known: Control) -> TableReceipt:
    """Lists how the table differs from its snapshot; corrects it, if that is ordered."""
    return _Reconciled(manifest, cut, known).receipt()


@dataclass(frozen=True, slots=True)
class _Found:
    """What a key of either side came to; `row` is the snapshot's, None where it has none."""

    key: str
    kind: str
    columns: Sequence[str] | None
    changed_since: bool
    row: _Row | None


class _Reconciled(TableRun):
    """One table of the run."""

    def receipt(self) -> TableReceipt:
        """What was found and, where that was ordered, what the history is after it."""
        order, run = Reconciliation(**self.manifest.order), self.manifest.number
        stored = opened(self.lake.history(self.cut.table))
        if stored is None:
            raise Terminal(f"{self.cut.topic}: there is no history to be compared")
        if fencing.applied(stored) >= run:
            return self.compact()
        found = self._compared(order, stored)
        did = dict(Counter(each.kind for each in found))
        self._list(found, order)
        wrong = [each for each in found if each.kind != EQUAL and not each.changed_since]
        if order.correct and wrong:
            made = self._entered() or self._corrections(wrong, order, stored)
            return replace(self, given=tuple(made), did=did).compact()
        return TableReceipt(
            table=self.cut.table,
            topic=self.cut.topic,
            counts=noted.totals(stored),
            history_version=stored.version(),
            did=did,
        )

    def _compared(self, order: Reconciliation, stored: DeltaTable) -> list[_Found]:
        versions = whole(stored)
        if not versions.num_rows:
            raise Terminal("the history has no rows, so nothing is known of its key")
        keys = names(versions[KEY][0].as_py())
        columns = history.columns(stored)
        theirs, new = snapshot.rows(order), self.cut.rules.renamed_to
        theirs = theirs.rename_columns([new.get(name, name) for name in theirs.column_names])
        # What the stream never has is not expected to be as the source has it.
        unknown = self.cut.rules.never_streamed
        shared = [n for n in columns if n in theirs.column_names and n not in unknown]
        missing = [name for name in keys if name not in shared]
        if missing:
            raise Terminal(
                f"the snapshot of {self.cut.topic} has no column '{missing[0]}', which is of its "
                f"key; it has {', '.join(sorted(theirs.column_names))}"
            )
        cells = {name: _cast(theirs[name], name, columns[name]) for name in shared}
        rows = self._by_key(cells, keys)
        return list(_differences(versions, cells, rows, keys, datetime.fromisoformat(order.as_of)))

    def _by_key(
        self, cells: Mapping[str, Sequence[object]], keys: Sequence[str]
    ) -> Mapping[tuple[object, ...], int]:
        """The number of each row of the snapshot by its key."""
        places = list(zip(*(cells[name] for name in keys), strict=True))
        empty = sum(None in place for place in places)
        if empty:
            raise Terminal(
                f"the snapshot of {self.cut.topic} has {empty} rows without a value in a column of "
                f"its key ({', '.join(keys)})"
            )
        twice = sum(count > 1 for count in Counter(places).values())
        if twice:
            raise Terminal(f"the snapshot of {self.cut.topic} has {twice} keys more than once")
        return {place: number for number, place in enumerate(places)}

    def _list(self, found: Iterable[_Found], order: Reconciliation) -> None:
        """Puts the differences on record, once."""
        table, run = self.cut.table, self.manifest.number
        listed = Kept(self.lake.differences, f"{fencing.APPLICATION}/{table}")
        known = listed.open()
        if fencing.applied(known, listed.application) >= run:
            return
        as_of = datetime.fromisoformat(order.as_of)
        told = [
            {
                "table": table,
                "key": each.key,
                "kind": each.kind,
                "columns": each.columns,
                "changed_since": each.changed_since,
                "as_of": as_of,
                "run": run,
            }
            for each in found
            if each.kind != EQUAL
        ]
        listed.write(known, pa.Table.from_pylist(told, schema=_DIFFERENCES), run)

    def _entered(self) -> Sequence[Record]:
        """The corrections that an attempt before this one has put on record."""
        return records.of_run(self.lake.records(self.cut.table), self.manifest.number)

    def _corrections(
        self, wrong: Iterable[_Found], order: Reconciliation, stored: DeltaTable
    ) -> Iterator[Record]:
        by_key = {each.key: each for each in wrong}
        columns, moment = history.columns(stored), datetime.fromisoformat(order.as_of)
        shown, newest = self.shown(by_key.keys()), _newest(stored, moment)
        for key, each in by_key.items():
            own = shown.get(key)
            change = correction(
                key,
                each.row,
                columns,
                behind=(own.seq if own else "") or newest,
                scope=own.scope if own else None,
                run=self.manifest.number,
                moment=moment,
            )
            yield corrections.written(change, columns)


def _cast(column: pa.ChunkedArray, name: str, of: ColumnType) -> list[object]:
    """The cells in the history's type.

    Raises `Terminal` where one is no value of it: it would be taken for NULL.
    """
    if pa.types.is_timestamp(column.type):  # Python has no nanoseconds
        column = column.cast(pa.timestamp("us", column.type.tz), safe=False)
    found, unfit = list[object](), 0
    for cell in column.to_pylist():
        try:
            found.append(casting.cast(cell, of))
        except ValueError:
            unfit += 1
    if unfit:
        raise Terminal(
            f"the snapshot has {unfit} cells in column '{name}' that are no {of.spark}, which the "
            "history has there: write them as such, or leave the column out"
        )
    return found


def _differences(
    versions: pa.Table,
    cells: Mapping[str, Sequence[object]],
    rows: Mapping[tuple[object, ...], int],
    keys: Sequence[str],
    moment: datetime,
) -> Iterator[_Found]:
    """What each key of either side came to, in the order of the keys."""
    own = _standing(versions, moment, cells.keys())
    since = _changed_since(versions, moment)
    # As the table would give them back: a float of 32 bits is not that of the snapshot.
    stored = {n: pa.array(of, versions.schema.field(n).type).to_pylist() for n, of in cells.items()}
    ours = {tuple(row[name] for name in keys): (key, row) for key, row in own.items()}
    places = {tuple(stored[name][n] for name in keys): n for n in rows.values()}
    found = []
    for place in ours.keys() | places.keys():
        number = places.get(place)
        given = None if number is None else {name: of[number] for name, of in cells.items()}
        if place not in ours:
            assert given is not None  # noqa: S101 - a key is of one side at least
            key = canonical({name: given[name] for name in keys})
            kind, columns = NOT_IN_HISTORY, None
        elif number is None:
            (key, _), kind, columns = ours[place], NOT_IN_SOURCE, None
        else:
            key, row = ours[place]
            columns = [n for n in cells if n not in keys and not _same(row[n], stored[n][number])]
            kind = DIFFERENT if columns else EQUAL
        found.append(_Found(key, kind, columns, key in since, given))
    yield from sorted(found, key=lambda each: each.key)


def _standing(versions: pa.Table, moment: datetime, shared: Iterable[str]) -> Mapping[str, _Row]:
    """The rows that stood at the moment, by their keys."""
    asked = versions.select([*dict.fromkeys((KEY, VALID_FROM, VALID_TO, *shared))])
    return {row[KEY]: row for row in asked.to_pylist() if _stands(row, moment)}


def _stands(row: _Row, moment: datetime) -> bool:
    ended = row[VALID_TO] is not None and row[VALID_TO] <= moment
    return bool(row[VALID_FROM] <= moment and not ended)


def _changed_since(versions: pa.Table, moment: datetime) -> AbstractSet[str]:
    return {
        row[KEY]
        for row in versions.select([KEY, VALID_FROM, VALID_TO]).to_pylist()
        if max(row[VALID_FROM], row[VALID_TO] or row[VALID_FROM]) > moment
    }


def _same(one: object, other: object) -> bool:
    """Whether both are one value; what is no number is one, too."""
    return one == other or (one != one and other != other)  # noqa: PLR0124


def _newest(stored: DeltaTable, moment: datetime) -> str | None:
    """Where the log stood at the moment; None where there is nothing that old."""
    times = rows(stored, _TIMES)
    begun = [row[SEQ_FROM] for row in times if row[VALID_FROM] <= moment]
    ended = [row[SEQ_TO] for row in times if row[VALID_TO] is not None and row[VALID_TO] <= moment]
    return max([*begun, *ended], default=None)
