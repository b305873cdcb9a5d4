"""What must be the case at the end of a story, whatever happened on the way."""

import json
from collections import Counter
from collections.abc import Iterable, Iterator
from typing import Any

import pyarrow as pa
from deltalake import DeltaTable, QueryBuilder

from chaos.records import TABLES
from strandline.cells import rendering
from strandline.changes.record import Record
from strandline.connectors import CONNECTORS
from strandline.law import TableHistory, interpret
from strandline.runs.lake import SourceLake

# What differs from one broker, or one attempt, to the next without meaning anything.
_OWN = {
    "topic_id", "_topic_id", "seconds", "history_version", "landing_version", "applied", "seen_at",
    "recorded_at", "manifest", "began_at", "published_at",
}  # fmt: skip

_CONSERVED = ("landed", "changes", "duplicates", "control", "quarantined")
_SHOWN = 600  # letters of a row

State = dict[str, Counter[str]]


def violations(lake: SourceLake, records: Iterable[Record]) -> list[str]:
    """Where histories or counts are not the law's, or a record was not landed once.

    That is before anything is ordered besides compaction.
    """
    every = list(records)
    found = _landing(lake, every)
    for table in interpret(every, CONNECTORS["postgresql"]).tables:
        found += [*_history(lake, table), *_counts(lake, table)]
    return found


def _landing(lake: SourceLake, every: Iterable[Record]) -> list[str]:
    landed = Counter((row["topic"], row["partition"], row["offset"]) for row in _rows(lake.landing))
    sent = Counter((r.at.topic, r.at.partition, r.at.offset) for r in every)
    return [f"landed: {landed - sent} too much, {sent - landed} missing"] if landed != sent else []


def _history(lake: SourceLake, table: TableHistory) -> list[str]:
    wanted = Counter(_line(table.topic, version.cells()) for version in table.versions)
    rows = _rows(lake.history(TABLES[table.topic]))
    wrong = _difference(wanted, Counter(_line(table.topic, row) for row in rows))
    return [f"{table.topic}: {wrong}"] if wrong else []


def _counts(lake: SourceLake, table: TableHistory) -> list[str]:
    """Law 6: every record counts once, whichever run, process or attempt has applied it."""
    runs = [row for row in _rows(lake.publications) if row["topic"] == table.topic]
    shown = {name: sum(row[name] for row in runs) for name in _CONSERVED}
    wanted = {name: getattr(table.counts, name) for name in _CONSERVED}
    return [f"{table.topic}: {shown} published instead of {wanted}"] if shown != wanted else []


def state(lake: SourceLake) -> State:
    """Everything that the lake holds, table by table, to be compared with another story's."""
    tables = [lake.landing, lake.quarantine, lake.gaps, lake.partitions, lake.publications]
    tables += [lake.manifests, lake.differences]
    for table in TABLES.values():
        tables += [lake.records(table), lake.history(table)]
    return {path.removeprefix(lake.home): Counter(map(_told, _rows(path))) for path in tables}


def differences(one: State, other: State) -> list[str]:
    """The tables in which two stories ended differently."""
    found = {path: _difference(rows, other[path]) for path, rows in one.items()}
    return [f"{path}: {wrong}" for path, wrong in found.items() if wrong]


def _difference(wanted: Counter[str], shown: Counter[str]) -> str:
    """What is missing and what is too much, as far as a person wants to read it."""
    kinds = {"missing": wanted - shown, "too much": shown - wanted}
    told = [
        f"{rows.total()} {kind}, as {min(rows)[:_SHOWN]}" for kind, rows in kinds.items() if rows
    ]
    return "; ".join(told)


def _rows(path: str) -> Iterator[dict[str, Any]]:
    if not DeltaTable.is_deltatable(path):
        return
    found = QueryBuilder().register("stored", DeltaTable(path)).execute("SELECT * FROM stored")
    yield from pa.table(found.read_all()).to_pylist()


def _told(row: dict[str, Any]) -> str:
    return json.dumps({k: v for k, v in row.items() if k not in _OWN}, sort_keys=True, default=repr)


def _line(topic: str, row: dict[str, Any]) -> str:
    """A history row as `strandline history` prints it, but for when it was recorded."""
    public = {name: value for name, value in row.items() if name not in _INTERNAL}
    told = json.loads(rendering.line(topic, public))
    return json.dumps(told, sort_keys=True)


_INTERNAL = {"_key", "_scope", "_is_head", "_seq_seen", "_recorded_at"}
