"""The gate before a publication: what is expected of a table, and which of it is not met.

Pure. What a run makes of a history is committed before it is asked, so a table that the gate
withholds stays published as it was last, and its history goes on: the figures are always those of
what is withheld by now, beside what is published.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from strandline.runs.receipt import Counts
from strandline.sources.expectations import Expectations
from strandline.sources.nearness import nearest


@dataclass(frozen=True, slots=True)
class Nulls:
    """How many of the current rows are NULL in a column, or at most so many where that is allowed.

    `columns` are all that there are. `unread` says why nobody could look.
    """

    counts: Mapping[str, int] = field(default_factory=dict)
    columns: tuple[str, ...] = ()
    unread: str | None = None


@dataclass(frozen=True, slots=True)
class Figures:
    """What is known of a table before a publication.

    `published` are the totals that readers see, None where nothing is published. `now` has the
    totals of what is to be published, and counts all that was applied since.
    """

    published: Counts | None
    now: Counts
    nulls: Nulls = field(default_factory=Nulls)


def unmet(expected: Expectations, of: Figures) -> tuple[str, ...]:
    """A clause for each expectation that does not hold: its name, the figure and the limit."""
    return (*_vanished(expected, of), *_quarantined(expected, of), *_rows(expected, of),
            *_nulls(expected, of))  # fmt: skip


def _vanished(expected: Expectations, of: Figures) -> Iterator[str]:
    limit, before = expected.max_vanished, of.published.current_rows if of.published else 0
    gone = before - of.now.current_rows
    if limit is not None and before and gone > limit * before:
        yield (
            f"max_vanished is {_percent(limit)}, and the current rows are {_percent(gone / before)}"
            f" fewer ({before:,} are published, {of.now.current_rows:,} are left)"
        )


def _quarantined(expected: Expectations, of: Figures) -> Iterator[str]:
    limit, refused, landed = expected.max_quarantined, of.now.quarantined, of.now.landed
    if limit is not None and refused > limit * landed:
        yield (
            f"max_quarantined is {_percent(limit)}, and of {landed:,} records since the last "
            f"publication {refused:,} ({_percent(refused / max(landed, 1))}) are in quarantine"
        )


def _rows(expected: Expectations, of: Figures) -> Iterator[str]:
    rows = of.now.current_rows
    if expected.min_rows is not None and rows < expected.min_rows:
        yield f"min_rows is {expected.min_rows:,}, and there are {rows:,} current rows"
    if expected.max_rows is not None and rows > expected.max_rows:
        yield f"max_rows is {expected.max_rows:,}, and there are {rows:,} current rows"


def _nulls(expected: Expectations, of: Figures) -> Iterator[str]:
    rows = of.now.current_rows
    if of.nulls.unread is not None:
        yield f"max_nulls cannot be asked for ({of.nulls.unread}): take it out of the source file"
        return
    for column, limit in expected.max_nulls.items():
        nulls = of.nulls.counts.get(column)
        if nulls is None:
            yield (
                f"max_nulls names the column '{column}', which the history has not; "
                f"{nearest(column, of.nulls.columns)}"
            )
        elif nulls > limit * rows:
            yield (
                f"max_nulls of column '{column}' is {_percent(limit)}, and {nulls:,} of {rows:,} "
                f"current rows ({_percent(nulls / rows)}) are NULL there"
            )


def _percent(share: float) -> str:
    return f"{share * 100:.4g}%"
