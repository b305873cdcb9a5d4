"""What the demo prints: tables of numbers and timelines drawn with letters.

Row values are printed as `Text`, never as markup: a value may hold brackets and escapes.
"""

import math
from collections.abc import Iterable, Iterator

from rich.table import Table
from rich.text import Text

from examples.tally import TableTally
from strandline.law import total
from strandline.runs.receipt import Counts
from strandline.timelines import axis
from strandline.timelines.picture import news_of
from strandline.timelines.timeline import Bar, Opened, Timeline

_STYLES = {
    Opened.SNAPSHOT: "bright_black",
    Opened.CREATE: "green",
    Opened.UPDATE: "blue",
    Opened.KEY_MOVE: "magenta",
}
_ENDS = {"update": "┤", "delete": "✕", "tombstone": "✕", "truncate": "┃"}
_OPEN_END = "▶"
_TIME = 11  # letters of a column's day, and a gap
# Two lines of heading, so that the table fits a terminal of 80 columns.
_HEADINGS = {
    "landed": "\nlanded",
    "changes": "\nchanges",
    "duplicates": "dupli-\ncates",
    "control": "con-\ntrol",
    "quarantined": "quar-\nantine",
    "history_rows": "history\nrows",
    "current_rows": "current\nrows",
}


def numbers(source: str, tables: Iterable[TableTally], seconds: float) -> Table:
    """What became of the records of each table, and of all in the `seconds` of the runs."""
    rows = tuple(tables)
    every = total(row.counts for row in rows)
    shown = Table(box=None, show_footer=True, padding=(0, 1, 0, 0), footer_style="bold")
    shown.add_column(f"\n{source}", footer="all tables", no_wrap=True)
    for name, heading in _HEADINGS.items():
        shown.add_column(heading, justify="right", footer=str(getattr(every, name)))
    shown.add_column("\nsec", justify="right", footer=f"{seconds:.1f}")
    for row in rows:
        shown.add_row(Text(row.table), *_cells(row.counts), f"{row.seconds:.1f}")
    return shown


def _cells(counts: Counts) -> Iterator[str]:
    for name in _HEADINGS:
        yield str(getattr(counts, name))


def picture(timeline: Timeline, width: int) -> Text:
    """A timeline in lines of at most about `width` letters: two of times, one of each lane."""
    margin = max((len(lane) for lane in timeline.lanes), default=0) + 2
    step = max((width - margin) // max(timeline.columns, 1), 4)
    lines = [*_times(timeline, margin, step)]
    for number, name in enumerate(timeline.lanes):
        bars = [bar for bar in timeline.bars if bar.lane == number]
        lines.append(_lane(name, bars, timeline, margin, step))
    return Text("\n").join(lines)


def _times(timeline: Timeline, margin: int, step: int) -> Iterator[Text]:
    """The days and the times where they change, and fractions, where there is room for one."""
    every = math.ceil(_TIME / step)
    found = list(axis.labels(timeline.ticks, every))
    for lines in zip(*((each.date, each.clock, each.fraction) for each in found), strict=True):
        line = "".join(text.ljust(step * every) for text in lines)
        if line.strip():
            yield Text(" " * margin + line.rstrip(), style="dim")


def _lane(name: str, bars: Iterable[Bar], timeline: Timeline, margin: int, step: int) -> Text:
    line = Text(name.rjust(margin - 2) + "  ")
    for bar in sorted(bars, key=lambda bar: bar.start):
        line.append(" " * (margin + bar.start * step - len(line)))
        end = timeline.columns if bar.end is None else bar.end
        line.append(_bar(bar, timeline, (end - bar.start) * step), style=_STYLES[bar.opened])
    return line


def _bar(bar: Bar, timeline: Timeline, width: int) -> str:
    """`├ percent 7.77 ──┤`, as wide as its columns; the last letter says how it ended."""
    room = width - 4
    text = _printable(news_of(bar))
    inside = f" {text if len(text) <= room - 1 else text[: room - 2] + '…'} " if room > 5 else ""
    return f"├{inside.ljust(width - 2, '─')}"[: width - 1] + _end(bar, timeline)


def _end(bar: Bar, timeline: Timeline) -> str:
    if bar.end is None:
        return _OPEN_END
    if bar.closed_by == "key_move":
        for move in timeline.moves:
            if move.column == bar.end and move.from_lane == bar.lane:
                return "↘" if move.to_lane > bar.lane else "↗"
    return _ENDS.get(str(bar.closed_by), "┤")


def _printable(text: str) -> str:
    return "".join(letter if letter.isprintable() else "·" for letter in text)
