"""Orders: what somebody wants done to a source besides its compaction.

An order becomes a manifest in the log of all runs. So it waits until an open run is finished, is
finished by whichever DAG finds it open, and is published like any run.
"""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from airflow.sdk import Param

from strandline.errors import SpecError
from strandline.lookup import nearest
from strandline.manifest import OffsetRange, TableCut, Work
from strandline.source import Source

if TYPE_CHECKING:
    from strandline_airflow.publications import Published


@dataclass(frozen=True, slots=True)
class Order:
    """Work for some tables. `lines` tell a person what it comes to, `options` the Spark wing.

    `read` fetches what the run is to work on, once it may begin, and gives further options.
    """

    work: Work
    tables: tuple[TableCut, ...]
    options: Mapping[str, Any]
    lines: tuple[str, ...]
    control: tuple[OffsetRange, ...] = field(default=())
    read: Callable[[], Mapping[str, Any]] | None = None


def dag_id(source: str, work: Work) -> str:
    """The DAG of a source that people trigger for the work."""
    return f"{Work.REPLAY if work is Work.UNDO else work}__{source}"


def dry_run(default: bool) -> Param:  # noqa: FBT001 - it is the whole form field
    """The form's field that asks for the plan alone."""
    return Param(
        default,
        type="boolean",
        title="Dry run",
        description="Print the plan in the log of task `plan`, and change nothing.",
    )


def tables(description: str) -> Param:
    """The form's field for names of tables."""
    return Param(
        [],
        type="array",
        items={"type": "string", "minLength": 1},
        title="Tables",
        description=f"{description} One name to a line, as the page shows them.",
    )


def moment(title: str, description: str) -> Param:
    """The form's field for a moment, which may be left empty."""
    return Param(
        None, type=["null", "string"], format="date-time", title=title, description=description
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
    """Everything of a topic that is applied."""
    return tuple(
        OffsetRange(row.topic, topic_id, partition, 0, end)
        for topic_id, offsets in sorted(row.applied.items())
        for partition, end in sorted(offsets.items())
    )


def span(params: Mapping[str, Any]) -> tuple[datetime | None, datetime | None]:
    """The form's `since` and `until`; `SpecError` where they are inverted."""
    since, until = (instant(params[name], name) for name in ("since", "until"))
    if since and until and since >= until:
        raise SpecError(f"'since' ({since}) has to be before 'until' ({until}): swap them")
    return since, until


def instant(text: str | None, name: str) -> datetime | None:
    """A moment of the form, in UTC; `SpecError` where it is none or has no offset."""
    if not text:
        return None
    try:
        found = datetime.fromisoformat(text)
    except ValueError as error:
        raise SpecError(f"'{name}' must be like 2026-11-21T12:00:00Z, not '{text}'") from error
    if found.tzinfo is None:
        raise SpecError(f"'{name}' needs an offset from UTC: write {text}Z or {text}+01:00")
    return found.astimezone(UTC)
