"""Orders: what somebody wants done to a source besides its compaction.

An order becomes a manifest in the log of all runs. So it waits until an open run is finished, is
finished by the next compaction where its own task does not do it, and is published like any run.
"""

import logging
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from airflow.sdk import Param, get_current_context

from strandline.errors import SpecError, Terminal
from strandline.runs.manifest import OffsetRange, TableCut, Work
from strandline.sources.nearness import nearest
from strandline.sources.source import Source

if TYPE_CHECKING:
    from strandline_airflow.runs.published import Published

log = logging.getLogger(__name__)

TO_A_LINE = " One name to a line, as the page shows them."  # of a field for names of tables
_SCHEDULED = "scheduled"
_AIRFLOWS = frozenset({"openlineage"})  # what TriggerDagRunOperator adds by itself
DRY = "Dry run: nothing was changed. To do it, trigger this with `dry_run` unticked, or false."
# Checked by the form itself: Airflow has nothing that checks `date-time`.
_MOMENT = r"^(\d{4}-\d{2}-\d{2}[T ]\d{2}:\d{2}(:\d{2}(\.\d+)?)?(Z|[+-]\d{2}:\d{2}))?$"
# Kafka's clock begins with the one, the nanoseconds of delta-rs's engine end after the other.
_FIRST, _LAST = datetime(1970, 1, 1, tzinfo=UTC), datetime(2262, 1, 1, tzinfo=UTC)


@dataclass(frozen=True, slots=True)
class Order:
    """Work for some tables. `lines` tell a person what it comes to, `options` the Spark wing.

    `is_final`: it cannot be taken back, so whoever approves it approves its lines to the letter.
    `read` fetches what the run is to work on, once it may begin, and gives further options.
    """

    work: Work
    tables: tuple[TableCut, ...]
    options: Mapping[str, Any]
    lines: tuple[str, ...]
    control: tuple[OffsetRange, ...] = field(default=())
    is_final: bool = False
    read: Callable[[], Mapping[str, Any]] | None = None


def dag_id(source: str, work: Work) -> str:
    """The DAG of a source that people trigger for the work."""
    return f"{Work.REPLAY if work is Work.UNDO else work}__{source}"


@contextmanager
def filled_in(
    fields: Collection[str], scheduled: Mapping[str, Any] | None = None
) -> Iterator[tuple[dict[str, Any], datetime]]:
    """The form of the run that is under way, and the run's own time.

    Fields that nobody filled in have their defaults, in a scheduled run those of `scheduled`. What
    is refused meanwhile is one line of the log, since Airflow tells it in the midst of a traceback.
    Raises `SpecError` where the run was triggered with what is no field.
    """
    context = get_current_context()
    run = context["dag_run"]
    try:
        _refuse_others(run.dag_id, run.conf or {}, fields)
        unattended = scheduled if run.run_type == _SCHEDULED else None
        given = {**context["params"], **(unattended or {})}
        yield {name: _lines(value) for name, value in given.items()}, run.run_after
    except Terminal as error:
        log.error("%s", error)  # noqa: TRY400 - without the traceback
        raise


def _lines(value: Any) -> Any:
    """A list without its empty lines: the form's text box sends what is behind the last newline."""
    return [line.strip() for line in value if line.strip()] if isinstance(value, list) else value


def _refuse_others(dag_id: str, given: Iterable[str], fields: Collection[str]) -> None:
    """`SpecError` for what is no field: Airflow drops it, and the field has its default."""
    other = next((name for name in given if name not in fields and name not in _AIRFLOWS), None)
    if other is not None:
        raise SpecError(f"{dag_id} has no field '{other}'; {nearest(other, fields)}")


def dry_run() -> Param:
    """The form's field that asks for the plan alone, until somebody unticks it."""
    return Param(
        True,
        type="boolean",
        title="Dry run",
        description="Print the plan in the log of the first task, and change nothing.",
    )


def lines(title: str, description: str) -> Param:
    """The form's field for texts, one to a line; empty lines count as none."""
    return Param([], type="array", items={"type": "string"}, title=title, description=description)


def tables(description: str) -> Param:
    """The form's field for names of tables."""
    return lines("Tables", f"{description}{TO_A_LINE}")


def text(title: str, description: str) -> Param:
    """The form's field for a text which may be left empty.

    It may be null besides: Airflow's form cannot be sent while one that may not is empty.
    """
    return Param("", type=["null", "string"], title=title, description=description)


def moment(title: str, description: str) -> Param:
    """The form's field for a moment, which may be left empty."""
    return Param(
        None,
        type=["null", "string"],
        format="date-time",
        pattern=_MOMENT,
        title=title,
        description=f"{description} Like 2026-11-21T12:00:00Z.",
    )


def chosen(
    source: Source, published: Iterable["Published"], names: Iterable[str]
) -> tuple["Published", ...]:
    """The last publication's rows of these tables, of all where none is named.

    Raises `SpecError` that names the closest ones where a table is not known.
    """
    known = {row.table: row for row in published if row.table is not None}
    wanted = list(dict.fromkeys(names))
    for name in wanted:
        if name not in known:
            there = nearest(name, sorted(known)) if known else "nothing of it is published yet"
            raise SpecError(f"source '{source.name}' has no table '{name}'; {there}")
    return tuple(known[name] for name in wanted or sorted(known))


def applied_of(row: "Published") -> tuple[OffsetRange, ...]:
    """Everything of a topic that is applied, be it withheld."""
    return tuple(
        OffsetRange(row.topic, topic_id, partition, 0, end)
        for topic_id, offsets in sorted(row.reached.items())
        for partition, end in sorted(offsets.items())
    )


def span(params: Mapping[str, Any]) -> tuple[datetime | None, datetime | None]:
    """The form's `since` and `until`; `SpecError` where they are inverted."""
    since, until = (instant(params[name], name) for name in ("since", "until"))
    if since and until and since >= until:
        raise SpecError(f"'since' ({since}) has to be before 'until' ({until}): swap them")
    return since, until


def instant(text: str | None, name: str, by: datetime | None = None) -> datetime | None:
    """A moment of the form, in UTC.

    Raises `SpecError` where it is none, has no offset, or is later than `by`, the run's own time.
    """
    if not text:
        return None
    try:
        found = datetime.fromisoformat(text)
    except ValueError as error:
        raise SpecError(f"'{name}' must be like 2026-11-21T12:00:00Z, not '{text}'") from error
    if found.tzinfo is None:
        raise SpecError(f"'{name}' needs an offset from UTC: write {text}Z or {text}+01:00")
    if not _FIRST <= found < _LAST:
        raise SpecError(
            f"'{name}' ({text}) lies outside the years {_FIRST.year} to {_LAST.year - 1}: leave it "
            "empty where there is no bound"
        )
    if by is not None and found > by:
        raise SpecError(
            f"'{name}' ({found}) is later than this run's own time ({by}): write a moment that is "
            "over"
        )
    return found.astimezone(UTC)
