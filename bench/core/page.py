"""The table of what was measured, with what had to be reached."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import median

from bench.core.rows import HOT, NAMES, ROWS, Row
from bench.core.timing import Timed

NOT_MEASURED = "not measured"
_MB = 1_000_000
_LEGEND = (
    "Records a second of one process on one core, medians after a warm-up, with the slowest and "
    "the fastest round. Beside each the time of DuckDB's single pass over the same records (those "
    "in Avro it has in JSON), on one "
    "thread and in turns with the subject: from a file of records to a file of versions. *In "
    "units* is how many such passes the subject takes, the median over the rounds; of few "
    "records, which slow subjects have, much of a pass is its beginning. Making the records is not "
    "timed; what a subject makes is counted."
)
_HEAD = (
    "| what | records | median /s | min /s | max /s | DuckDB s | in units | at least | aim |\n"
    "|---|---:|---:|---:|---:|---:|---:|---:|---:|"
)


@dataclass(frozen=True, slots=True)
class Circumstances:
    """When, of which code, on what, and with how many rounds."""

    date: str
    commit: str
    machine: str
    load: tuple[float, float, float]
    rounds: int


@dataclass(frozen=True, slots=True)
class Figures:
    """What was measured, by row; `hot` are the bytes of `changes` of one key."""

    timed: Mapping[str, Timed]
    hot: int | None = None
    changes: int = HOT.changes


def rendered(figures: Figures, about: Circumstances, names: Sequence[str] = NAMES) -> str:
    """The page; of the rows that are named, those without figures say so."""
    load = ", ".join(f"{each:.1f}" for each in about.load)
    told = (
        f"{about.rounds} rounds on {about.date}, commit {about.commit}: {about.machine}; "
        f"load {load} over 1, 5 and 15 minutes at the end."
    )
    lines = [_HEAD, *(_line(row, figures.timed.get(row.name)) for row in ROWS if row.name in names)]
    if HOT.name in names:
        lines.append(_hot_line(figures))
    return "\n\n".join(["# The core alone", _LEGEND, told, "\n".join(lines)]) + "\n"


def _line(row: Row, found: Timed | None) -> str:
    if found is None:
        measured = ["", NOT_MEASURED, "", "", "", ""]
    else:
        rates = found.rates
        measured = [
            f"{found.records:,}",
            *(f"{each:,.0f}" for each in (median(rates), rates[0], rates[-1])),
            f"{median(found.unit):.3f}",
            f"{found.ratio:.2f}",
        ]
    return _joined(row.told, *measured, f"{row.least:,}", f"{row.aim:,}")


def _hot_line(figures: Figures) -> str:
    told = f"a key with {figures.changes:,} changes: peak memory beyond the batch in hand"
    found = NOT_MEASURED if figures.hot is None else f"{figures.hot / _MB:.0f} MB"
    limits = (f"≤ {each // _MB} MB" for each in (HOT.least, HOT.aim))
    return _joined(told, "", found, "", "", "", "", *limits)


def _joined(*cells: str) -> str:
    return f"| {' | '.join(cells)} |"
