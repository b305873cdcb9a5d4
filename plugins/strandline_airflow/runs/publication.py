"""The rows of a run: what it did to its tables, and which of them the gate withholds. Pure."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace

from strandline.runs.gate import Figures, Nulls, unmet
from strandline.runs.manifest import Manifest, OffsetRange, Work
from strandline.runs.receipt import Counts, Receipt, TableReceipt
from strandline.runs.release import Release
from strandline_airflow.runs import orders
from strandline_airflow.runs.published import Offsets, Published, Withheld

# What is NULL in the current rows of a table at a version, of columns with how many may be.
AskNulls = Callable[[str, int, Mapping[str, float]], Nulls]


def published(
    manifest: Manifest, receipt: Receipt, before: Iterable[Published], nulls: AskNulls
) -> tuple[Published, ...]:
    """The rows of a run: what it did to its tables, and the others as they were `before`."""
    carried = {row.topic: _carried(row, manifest) for row in before}
    receipts = {one.table: one for one in receipt.tables}
    for cut in manifest.tables:
        old = carried.get(cut.topic) or _first(manifest, cut.table, cut.topic)
        # What came since a run that is taken back is applied again, of new partitions as well.
        start: Offsets = {} if manifest.work is Work.UNDO else old.reached
        applied = _advanced(start, cut.ranges if manifest.applies else ())
        made = receipts.get(cut.table)
        carried[cut.topic] = (
            _failed(old, made, manifest)
            if made is None or made.error is not None
            else _made(old, made, applied, manifest, nulls)
        )
    for offsets in manifest.control if manifest.applies else ():
        old = carried.get(offsets.topic) or _first(manifest, None, offsets.topic)
        carried[offsets.topic] = replace(old, applied=_advanced(old.applied, [offsets]))
    if manifest.work is Work.RELEASE:
        release = Release(**manifest.order)
        for topic in release.topics:
            carried[topic] = _released(carried[topic], release)
    return tuple(carried[topic] for topic in sorted(carried))


def _first(manifest: Manifest, table: str | None, topic: str) -> Published:
    return Published(
        number=manifest.number,
        work=manifest.work,
        table=table,
        topic=topic,
        planned_at=manifest.planned_at,
        landing_version=manifest.landing_version,
        applied={},
    )


def _carried(row: Published, manifest: Manifest) -> Published:
    """The row of a table that had no news: how it stood, and nothing was counted in this run."""
    return replace(
        _first(manifest, row.table, row.topic),
        applied=row.applied,
        counts=Counts(history_rows=row.counts.history_rows, current_rows=row.counts.current_rows),
        history_version=row.history_version,
        held=row.held,
        withheld=row.withheld,
    )


def _failed(old: Published, receipt: TableReceipt | None, manifest: Manifest) -> Published:
    """The row of a table that the run failed on: it stays where it was and says why."""
    error = "the run's receipt does not mention this table" if receipt is None else receipt.error
    row = replace(old, error=error, held=error if manifest.work is Work.COMPACT else old.held)
    if receipt is None:
        return row
    # An erasure that found something afterwards has ended the version before it all the same.
    left = max(receipt.history_version, old.history_version)
    return replace(row, seconds=receipt.seconds, history_version=left)


def _made(
    old: Published, receipt: TableReceipt, applied: Offsets, manifest: Manifest, nulls: AskNulls
) -> Published:
    """The row of a table that the run was done on; the gate may withhold what came of it."""
    since = _since(old.withheld, receipt.counts, manifest.work)
    made = Withheld("", receipt.history_version, applied, since, receipt.orphaned_moves)
    row = replace(old, table=receipt.table, seconds=receipt.seconds)
    why = _why_not(old, made, manifest, nulls)
    if why is not None:
        held = why if manifest.work is Work.COMPACT or not old.is_failing else old.held
        counts = replace(
            receipt.counts,
            rows_written=0,
            rows_closed=0,
            history_rows=old.counts.history_rows,
            current_rows=old.counts.current_rows,
        )
        return replace(row, counts=counts, held=held, withheld=replace(made, why=why))
    freed = manifest.work is Work.COMPACT or (old.withheld is not None and not old.is_failing)
    return replace(
        _let_through(row, made),
        counts=replace(
            receipt.counts, rows_written=since.rows_written, rows_closed=since.rows_closed
        ),
        changed=receipt.changed or old.withheld is not None,
        held=None if freed else old.held,
    )


def _let_through(row: Published, made: Withheld) -> Published:
    return replace(
        row,
        applied=made.applied,
        history_version=made.history_version,
        orphaned_moves=made.orphaned_moves,
        withheld=None,
    )


def _why_not(old: Published, made: Withheld, manifest: Manifest, nulls: AskNulls) -> str | None:
    """Why the table is not published as it is now; None where it is.

    What somebody orders is not asked for, but where the table is withheld already: that it then
    meets what is expected can be what the order is for. An erasure is published whatever it comes
    to, since what was published before it can no longer be read.
    """
    expected = manifest.expectations.get(old.topic)
    asked = manifest.work is Work.COMPACT or old.withheld is not None
    if expected is None or not asked or manifest.work is Work.ERASE:
        return None
    if made.history_version == old.history_version:
        return None  # readers have it
    table = str(old.table)
    rows = made.counts.current_rows
    allowed = {column: share * rows for column, share in expected.max_nulls.items()}
    figures = Figures(
        published=None if old.history_version < 0 else old.counts,
        now=made.counts,
        nulls=nulls(table, made.history_version, allowed) if allowed else Nulls(),
    )
    clauses = unmet(expected, figures)
    return _told(manifest.source, old, clauses) if clauses else None


def _told(source: str, old: Published, clauses: Iterable[str]) -> str:
    seen = (
        "nothing of it is published"
        if old.history_version < 0
        else f"readers of publications see version {old.history_version} of its history"
    )
    return (
        f"{old.table} is not published, since it is not as expected: {'; '.join(clauses)}. Until "
        f"then {seen}. If it is right as it is, trigger {orders.dag_id(source, Work.RELEASE)} for "
        "it, or change what is expected in the source file. If not, mend it (correct the source, "
        "or replay): it is published by the next run that finds it as expected"
    )


def _released(row: Published, release: Release) -> Published:
    """The row of a table that is published as it is withheld, because somebody wants it."""
    made = row.withheld
    if made is None:  # an erasure meanwhile has published it
        return row
    written = {"rows_written": made.counts.rows_written, "rows_closed": made.counts.rows_closed}
    totals = {
        "history_rows": made.counts.history_rows, "current_rows": made.counts.current_rows
    }  # fmt: skip
    return replace(
        _let_through(row, made),
        counts=Counts(**written, **totals),
        changed=True,
        held=row.held if row.is_failing else None,
        released_by=release.by,
        released_why=release.why,
    )


def _advanced(applied: Offsets, ranges: Iterable[OffsetRange]) -> dict[str, dict[int, int]]:
    advanced = {topic_id: dict(offsets) for topic_id, offsets in applied.items()}
    for offsets in ranges:
        advanced.setdefault(offsets.topic_id, {})[offsets.partition] = offsets.end
    return advanced


def _since(before: Withheld | None, made: Counts, work: Work) -> Counts:
    """What was counted since the last publication, once a run has counted this besides.

    Only compactions apply what is new. What is read again from quarantine leaves it.
    """
    known = Counts() if before is None else before.counts
    found = replace(known + made, history_rows=made.history_rows, current_rows=made.current_rows)
    if work is Work.COMPACT:
        return found
    mended = made.landed - made.quarantined if work is Work.REQUEUE else 0
    return replace(found, landed=known.landed, quarantined=max(known.quarantined - mended, 0))
