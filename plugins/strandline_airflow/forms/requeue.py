"""`requeue__SOURCE`: quarantined records are read again from landing, once they can be."""
# ruff: noqa: PLC0415 - Delta and Arrow are imported by the tasks that use them

from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import asdict
from datetime import datetime
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from airflow.sdk import DAG, Param

from strandline.errors import SpecError
from strandline.runs.lake import SourceLake
from strandline.runs.manifest import OffsetRange, TableCut, Work
from strandline.runs.selection import Selection
from strandline.sources.nearness import nearest
from strandline.sources.source import Source
from strandline_airflow.pipelines.pipeline import Form, ordered
from strandline_airflow.runs import orders
from strandline_airflow.runs.orders import Order

if TYPE_CHECKING:
    from deltalake import DeltaTable

    from strandline_airflow.runs.published import Published

_PARAMS = {
    "tables": orders.tables("The tables whose records are read again; none: all."),
    "reason": Param(
        None,
        type=["null", "string"],
        title="Reason",
        description="Only records refused for this reason, as the page names it: invalid_json.",
    ),
    "since": orders.moment("Since", "Only records with this Kafka time or later."),
    "until": orders.moment("Until", "Only records with an earlier Kafka time."),
    "dry_run": orders.dry_run(),
}
_REASONS = 'SELECT DISTINCT reason FROM stored WHERE "table" IN :tables ORDER BY 1'
_COUNTED = (
    'SELECT "table", reason, topic_id, "partition", count(*) AS records,'
    ' min("offset") AS first, max("offset") AS last FROM stored'
    """ WHERE "table" IN :tables AND (:reason = '' OR reason = :reason)"""
    """ AND (:since = '' OR "timestamp" >= to_timestamp(nullif(:since, '')))"""
    """ AND (:until = '' OR "timestamp" < to_timestamp(nullif(:until, '')))"""
    " GROUP BY 1, 2, 3, 4 ORDER BY 1, 2, 3, 4"
)

_UNKNOWN = (
    'SELECT key, value, headers FROM stored WHERE "table" IN :tables'
    " AND reason = 'unknown_schema'"
)


def order(source: Source, params: dict[str, Any], _run_after: datetime) -> Order:
    """What the form asks for; `SpecError` where nothing of it is in quarantine."""
    from strandline.alone.stores import tables
    from strandline_airflow.runs.publications import Publications

    selection = _selection(params)
    lake = SourceLake(source.lake, source.name)
    published = {
        str(row.table): row
        for row in orders.chosen(source, Publications(lake).last(), params["tables"])
    }
    stored = tables.opened(lake.quarantine)
    asked = {name: value or "" for name, value in asdict(selection).items()}
    wanted = list(published)
    found = tables.rows(stored, _COUNTED, tables=wanted, **asked) if stored and wanted else []
    if not found:
        _refuse_unknown(asked["reason"], stored, wanted)
        raise SpecError(
            f"nothing that was asked for is in the quarantine of {source.name}: see the page "
            "*Strandline* for what is, or ask for less"
        )
    return Order(
        read=partial(_look_up, source, wanted),
        work=Work.REQUEUE,
        tables=tuple(_cuts(source, published, found)),
        options=asdict(selection),
        lines=tuple(f"{r['table']}: {r['records']} records, {r['reason']}" for r in _summed(found)),
    )


def _refuse_unknown(reason: str, stored: "DeltaTable | None", wanted: list[str]) -> None:
    """`SpecError` with the reasons that there are, where it is none of them."""
    from strandline.alone.stores import tables

    rows = tables.rows(stored, _REASONS, tables=wanted) if stored and wanted else []
    there = [row["reason"] for row in rows]
    if reason and there and reason not in there:
        raise SpecError(f"nothing is refused as '{reason}'; {nearest(reason, there)}")


def _look_up(source: Source, names: list[str]) -> dict[str, Any]:
    """Has the schemas stored that quarantined records of tables name, as far as a registry can.

    Of records that were landed before the source had one nobody has asked yet.
    """
    from strandline.alone.stores import tables
    from strandline_airflow.registry.lookup import Lookup

    stored = tables.opened(SourceLake(source.lake, source.name).quarantine)
    found = tables.selected(stored, _UNKNOWN, tables=names) if stored else None
    Lookup(source).again([] if found is None else found.to_batches())
    return {}


def _selection(params: Mapping[str, Any]) -> Selection:
    since, until = orders.span(params)
    return Selection(
        reason=params["reason"] or None,
        since=since.isoformat() if since else None,
        until=until.isoformat() if until else None,
    )


def _cuts(
    source: Source, published: Mapping[str, "Published"], found: Iterable[Mapping[str, Any]]
) -> Iterable[TableCut]:
    """Ranges around the records, as far as their topic is applied: what follows is compaction's."""
    spans: defaultdict[str, dict[tuple[str, int], tuple[int, int]]] = defaultdict(dict)
    for row in found:
        place = row["topic_id"], row["partition"]
        first, last = spans[row["table"]].get(place, (row["first"], row["last"]))
        spans[row["table"]][place] = min(first, row["first"]), max(last, row["last"])
    for table, places in spans.items():
        standing = published[table]
        ranges = (
            OffsetRange(standing.topic, topic_id, partition, first, min(last + 1, end))
            for (topic_id, partition), (first, last) in places.items()
            if first < (end := standing.reached.get(topic_id, {}).get(partition, 0))
        )
        yield TableCut(table, standing.topic, tuple(ranges), source.rules(standing.topic))


def _summed(found: Iterable[Mapping[str, Any]]) -> Iterable[Mapping[str, Any]]:
    sums: defaultdict[tuple[str, str], int] = defaultdict(int)
    for row in found:
        sums[row["table"], row["reason"]] += row["records"]
    return (
        {"table": table, "reason": reason, "records": records}
        for (table, reason), records in sums.items()
    )


FORM = Form("requeue", _PARAMS, order)


def dag(source: Source, path: Path) -> DAG:
    """The DAG of a source."""
    return ordered(source, path, FORM)
