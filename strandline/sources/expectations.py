"""What a table has to meet before it is published: `[expectations]`, and a table's `expectations`.

Nothing is expected where a source file says nothing. What a table says of itself replaces what is
said of all; columns are those of its history.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field

from strandline.sources.section import Section


@dataclass(frozen=True, slots=True)
class Expectations:
    """What has to hold of a table for it to be published; None: nothing is expected of that.

    Shares are from 0 to 1. `max_vanished`: by which share the current rows may have become fewer
    since the last publication. `max_quarantined`: which share of the records that were applied
    since then may be in quarantine. `min_rows`, `max_rows`: of current rows. `max_nulls`: in which
    share of these a column may be NULL, by its name.
    """

    max_vanished: float | None = None
    max_quarantined: float | None = None
    min_rows: int | None = None
    max_rows: int | None = None
    max_nulls: Mapping[str, float] = field(default_factory=dict)

    @staticmethod
    def of(section: Section, default: "Expectations | None" = None) -> "Expectations":
        """Those of a section; with a default those of a table, which knows its columns."""
        of_all = default or Expectations()
        found = Expectations(
            max_vanished=section.share("max_vanished", of_all.max_vanished),
            max_quarantined=section.share("max_quarantined", of_all.max_quarantined),
            min_rows=_rows(section, "min_rows", of_all.min_rows),
            max_rows=_rows(section, "max_rows", of_all.max_rows),
            max_nulls={} if default is None else _nulls(section),
        )
        section.finish()
        if found.min_rows is not None and found.max_rows is not None:
            _check_bounds(section, found.min_rows, found.max_rows)
        return found


def _rows(section: Section, name: str, default: int | None) -> int | None:
    rows: int | None = section.take(name, int, default)
    return rows if rows is None else section.number(name, 0, default=rows)


def _check_bounds(section: Section, least: int, most: int) -> None:
    if least > most:
        section.note(f"'min_rows' is {least} and 'max_rows' {most}: no table could meet both")


def _nulls(section: Section) -> dict[str, float]:
    own = section.within("max_nulls")
    return {name: share for name in own.values if (share := own.share(name)) is not None}
