"""Work `erase`: every row of some keys, and of every key that they were moved from or to, goes.

From landing, quarantine, records and history, from the files that deletion leaves behind, and from
the statistics in the tables' logs. Which keys these are is put on record first, as digests, so that
a run that died half way goes on with all of them. Landing goes first, while the records on record
still say where it has them, and the history last.
"""

from collections.abc import Mapping
from collections.abc import Set as AbstractSet
from dataclasses import replace
from typing import Any

import pyarrow as pa
from deltalake import DeltaTable, write_deltalake

from strandline.alone.stores import fencing, files, landing, moves, noted, records
from strandline.alone.stores.control import Control
from strandline.alone.stores.scrubbing import leftovers, scrubbed
from strandline.alone.stores.tables import has_vectors, literal, opened, rows, storage_options
from strandline.changes.record import Coordinates
from strandline.errors import BeyondAloneError, Terminal
from strandline.runs.erasure import Erasure, digest
from strandline.runs.lake import SourceLake
from strandline.runs.manifest import Manifest, TableCut
from strandline.runs.receipt import Counts, TableReceipt

_NAMED = 5  # of what is found afterwards


def erased(manifest: Manifest, cut: TableCut, _known: Control) -> TableReceipt:
    """Erases the manifest's keys from the table, and looks for them afterwards.

    Raises `Terminal` where something is found, `BeyondAloneError` where Spark may have left rows
    under deletion vectors.
    """
    return _Erased(manifest, cut).receipt()


def left(manifest: Manifest, cut: TableCut) -> int:
    """The history's version that there is now: the files of the one before may be gone already."""
    stored = opened(SourceLake(manifest.lake, manifest.source).history(cut.table))
    return -1 if stored is None else stored.version()


class _Erased:
    """One table of the run."""

    def __init__(self, manifest: Manifest, cut: TableCut) -> None:
        self._manifest, self._cut = manifest, cut
        self._lake = SourceLake(manifest.lake, manifest.source)
        self._history = self._lake.history(cut.table)
        self._records = self._lake.records(cut.table)
        own = f'"table" = {literal(cut.table)} AND '
        # The stores, with a condition that their rows are of the table, and the columns of keys.
        self._keyed = {
            self._lake.quarantine: (own, ("record_key",)),
            self._lake.differences: (own, ("key",)),
            self._records: ("", ("entry_key", "entry_other")),
            self._history: ("", ("_key",)),
        }

    def receipt(self) -> TableReceipt:
        """What was erased."""
        self._refuse_vectors()
        records.forget_failed(self._records, opened(self._history), self._manifest.number)
        digests = self._on_record()
        keys = {key for key in self._known() if digest(key) in digests}
        at, former = self._found(keys)
        own = f"topic = {literal(self._cut.topic)} AND ({at})"
        did = {"keys": len(digests), "landing": _delete(self._lake.landing, own)}
        for path in (self._lake.quarantine, self._records):
            where = f"{self._of(path, keys)} OR {self._keyed[path][0]}({at})"
            did[path.rpartition("/")[2]] = _delete(path, where)
        path = self._lake.differences
        did[path.rpartition("/")[2]] = _delete(path, self._of(path, keys | former))
        self._remove_copies()
        did["history"] = self._from_history(keys)
        scrubbed(self._lake.landing, shared=True)
        for path in self._keyed:
            scrubbed(path, note=self._note() if path == self._history else None)
        self._prove(keys)
        return self._told({**did, "found afterwards": 0})

    def _told(self, did: Mapping[str, int]) -> TableReceipt:
        stored = opened(self._history)
        known = None if stored is None else noted.last(stored)
        return TableReceipt(
            table=self._cut.table,
            topic=self._cut.topic,
            counts=Counts() if stored is None else noted.totals(stored),
            history_version=-1 if stored is None else stored.version(),
            orphaned_moves=0 if known is None else known.receipt.orphaned_moves,
            changed=True,
            did=did,
        )

    def _refuse_vectors(self) -> None:
        for path in (*self._keyed, self._lake.landing):
            if has_vectors(opened(path)):
                raise BeyondAloneError(f"{path} has deletion vectors, which Spark alone purges")

    def _on_record(self) -> AbstractSet[str]:
        """Digests of the keys and of all that hang on them by moves, as the run found them."""
        path = self._lake.erased(self._manifest.number)
        if opened(path) is None:
            given = frozenset(Erasure(**self._manifest.order).digests)
            pairs = moves.edges(self._history, self._records)
            linked = moves.related(((digest(one), digest(other)) for one, other in pairs), given)
            found = pa.table({"digest": sorted(linked)})
            with fencing.overtaken(path):
                write_deltalake(path, found, mode="error", storage_options=storage_options())
        stored = opened(path)
        return {row["digest"] for row in _rows(stored, "SELECT digest FROM stored")}

    def _known(self) -> set[str]:
        """All keys that the stores still name."""
        found = set()
        for path, (own, columns) in self._keyed.items():
            for column in columns:
                sql = f'SELECT DISTINCT "{column}" AS k FROM stored WHERE {own}true'  # noqa: S608
                found |= {row["k"] for row in _rows(opened(path), sql)}
        return found - {None}

    def _found(self, keys: AbstractSet[str]) -> tuple[str, AbstractSet[str]]:
        """The condition that a record is of the keys, by its place, and all that it was called.

        Under other rules, such as another `rename`, the key of the same record was another text.
        """
        places, former = set(), set[str]()
        for path in (self._records, self._lake.quarantine):
            sql = f'SELECT topic_id, partition, "offset" FROM stored WHERE {self._of(path, keys)}'  # noqa: S608
            places |= {
                Coordinates(self._cut.topic, row["partition"], row["offset"], row["topic_id"])
                for row in _rows(opened(path), sql)
            }
        at = landing.lie_at(places)
        for path in (self._records, self._lake.quarantine):
            own, (column, *_) = self._keyed[path]
            sql = f"SELECT DISTINCT {column} AS k FROM stored WHERE {own}({at})"  # noqa: S608
            former |= {row["k"] for row in _rows(opened(path), sql) if row["k"] is not None}
        return at, former

    def _of(self, path: str, keys: AbstractSet[str]) -> str:
        """The condition that a row of the store is of one of the keys."""
        own, columns = self._keyed[path]
        named = literal(sorted(keys) or [""])  # a list that is empty is no SQL, and no key is empty
        return f"{own}({' OR '.join(f'{column} IN {named}' for column in columns)})"

    def _remove_copies(self) -> None:
        """What lies beside the stores that are gone on with."""
        lake, table = self._lake, self._cut.table
        for folder in (lake.shadows, lake.snapshots):
            files.remove(folder)
        for path in (lake.changes(table), lake.deleted_keys(table), lake.moves(table)):
            files.remove(path)

    def _from_history(self, keys: AbstractSet[str]) -> int:
        """One fenced commit, with the totals that the next run goes on from."""
        stored, run = opened(self._history), self._manifest.number
        if stored is None or fencing.applied(stored) >= run:
            return 0
        where = self._of(self._history, keys)
        gone = _rows(stored, f"SELECT _is_current AS open FROM stored WHERE {where}")  # noqa: S608
        if not gone:
            return 0
        known = noted.last(stored)
        text = None
        if known is not None:
            counts = Counts(
                history_rows=known.totals.history_rows - len(gone),
                current_rows=known.totals.current_rows - sum(row["open"] for row in gone),
            )
            receipt = replace(known.receipt, counts=counts, did={})
            # The next run reads all: halves of moves are counted without the erased keys.
            text = replace(known, receipt=receipt, facts=None).text()
        with fencing.overtaken(self._history):
            stored.delete(where, commit_properties=fencing.commit(run, text))
        return len(gone)

    def _note(self) -> tuple[int, str] | None:
        """What the next run goes on from; the log would forget it with the commits before."""
        stored = opened(self._history)
        known = None if stored is None else noted.last(stored)
        return None if known is None else (self._manifest.number, known.text())

    def _prove(self, keys: AbstractSet[str]) -> None:
        found = []
        for path in self._keyed:
            table = opened(path)
            if table is not None:
                store = path.rpartition("/")[2]
                sql = f"SELECT 1 AS one FROM stored WHERE {self._of(path, keys)}"  # noqa: S608
                count = len(_rows(table, sql))
                found += [f"{count} rows in {store}"] if count else []
                found += [f"{store}/{name}" for name in leftovers(table)]
        if found:
            raise Terminal(
                f"{self._cut.topic}: what should be gone is found: {', '.join(found[:_NAMED])}"
                f"{' and more' * (len(found) > _NAMED)}. Keep other writers off the lake, delete "
                "files that they left there, and trigger this again"
            )


def _rows(table: DeltaTable | None, sql: str) -> list[dict[str, Any]]:
    return [] if table is None else rows(table, sql)


def _delete(uri: str, where: str) -> int:
    """Deletes the rows that meet the condition; how many they were. Doing it again finds none."""
    table = opened(uri)
    if table is None:
        return 0
    with fencing.overtaken(uri):
        return int(table.delete(where)["num_deleted_rows"])
