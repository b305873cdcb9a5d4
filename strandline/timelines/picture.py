"""Lays a timeline out in pixels. Everything here is numbers and plain text; the template draws."""

import math
from collections.abc import Iterator
from dataclasses import dataclass

from strandline.timelines import axis
from strandline.timelines.timeline import Bar, Move, Opened, Row, Timeline
from strandline.timelines.words import closing, opening, spelled

_WIDTH = 1118  # what a drawing fills where its columns allow it
_STEP = (15, 360)  # the least and the greatest width of a column
_LANE = 34
_BAR = 22
_TOP = 60  # room for the days and the times
_BOTTOM = 10
_FOOT = 16  # room for a name below the fences
_GUTTER = 4  # between a bar and the column lines it starts and ends at
_LETTER = 6.7  # width of a letter of a bar's or a lane's text, about
_TICK_WIDTH = 78  # a day with a gap behind it


@dataclass(frozen=True, slots=True)
class Label:
    """A text at a place."""

    x: float
    y: float
    text: str


@dataclass(frozen=True, slots=True)
class Tick:
    """A column's line, with its time where there is room for one."""

    x: float
    label: axis.Label | None


@dataclass(frozen=True, slots=True)
class Shape:
    """A version's bar; `text` is cut to about what fits, `hints` are the lines shown on hover."""

    x: float
    y: float
    width: float
    height: float
    opened: str
    closed_by: str | None
    text: str
    hints: tuple[str, ...]
    row: Row

    @property
    def right(self) -> float:
        """Where the bar ends."""
        return self.x + self.width

    @property
    def room(self) -> float:
        """How wide its text may become; the sign of an open version stands to the right of it."""
        return max(self.width - (3 if self.closed_by else 14), 0)

    @property
    def middle(self) -> float:
        """The height of the lane's line."""
        return self.y + self.height / 2


@dataclass(frozen=True, slots=True)
class Drawing:
    """A timeline in pixels."""

    width: float
    height: float
    left: float
    lanes: tuple[Label, ...]
    ticks: tuple[Tick, ...]
    shapes: tuple[Shape, ...]
    arrows: tuple[str, ...]
    fences: tuple[float, ...]
    bottom: float
    top: float = _TOP - 6


def draw(timeline: Timeline) -> Drawing:
    """The drawing of a timeline."""
    page = _Page.of(timeline)
    return Drawing(
        width=page.right + 8,
        height=_TOP + _LANE * len(timeline.lanes) + _BOTTOM + (_FOOT if timeline.fences else 0),
        bottom=_TOP + _LANE * len(timeline.lanes) + _BOTTOM - 4,
        left=page.left,
        lanes=tuple(
            Label(page.left - 14, page.middle(lane), _cut(text, page.left - 20))
            for lane, text in enumerate(timeline.lanes)
        ),
        ticks=tuple(_ticks(timeline, page)),
        shapes=tuple(_shape(bar, timeline, page) for bar in timeline.bars),
        arrows=tuple(_arrow(move, page) for move in timeline.moves),
        fences=tuple(page.x(column) for column in timeline.fences),
    )


@dataclass(frozen=True, slots=True)
class _Page:
    left: float
    step: float
    right: float

    @staticmethod
    def of(timeline: Timeline) -> "_Page":
        longest = max((len(lane) for lane in timeline.lanes), default=0)
        left = min(max(longest * _LETTER + 26, 60), 190)
        columns = max(timeline.columns, 1)
        step = min(max((_WIDTH - left) / columns, _STEP[0]), _STEP[1])
        return _Page(left, step, left + columns * step)

    def x(self, column: int) -> float:
        return round(self.left + column * self.step, 1)

    def middle(self, lane: int) -> float:
        return _TOP + _LANE * lane + _LANE / 2


def _ticks(timeline: Timeline, page: _Page) -> Iterator[Tick]:
    """Every column has a line; as many have a time as there is room for."""
    every = math.ceil(_TICK_WIDTH / page.step)
    labels = {each.column: each for each in axis.labels(timeline.ticks, every)}
    for column in range(timeline.columns):
        yield Tick(page.x(column), labels.get(column))


def _shape(bar: Bar, timeline: Timeline, page: _Page) -> Shape:
    start = page.x(bar.start) + _GUTTER
    end = page.right if bar.end is None else page.x(bar.end) - _GUTTER
    # A version that ended where it began still has to be seen.
    width = max(end - start, 3)
    return Shape(
        x=start,
        y=page.middle(bar.lane) - _BAR / 2,
        width=round(width, 1),
        height=_BAR,
        opened=bar.opened.value,
        closed_by=bar.closed_by,
        text=_cut(news_of(bar), width - (12 if bar.closed_by else 24)),
        hints=tuple(_hints(bar, timeline)),
        row=bar.row,
    )


def news_of(bar: Bar) -> str:
    """What a version changed, in one line."""
    if bar.news:
        return " · ".join(f"{name} {spelled(bar.row, name)}" for name, _ in bar.news)
    return "same values" if bar.opened is Opened.KEY_MOVE else "all NULL"


def _hints(bar: Bar, timeline: Timeline) -> Iterator[str]:
    row = bar.row
    yield f"{timeline.table}  {timeline.lanes[bar.lane]}"
    yield f"from {row['_valid_from']}"
    yield f"to {row['_valid_to'] or 'now'}"
    yield f"{opening(bar)}; {closing(bar)}"
    yield f"position {row['_position']}"
    yield ""
    for name in row:
        if not name.startswith("_"):
            yield _clip(f"{name}: {spelled(row, name)}", 110)


def _arrow(move: Move, page: _Page) -> str:
    """From the end of one bar to the start of the other, curving through the column's line."""
    x, y, to = page.x(move.column), page.middle(move.from_lane), page.middle(move.to_lane)
    bend = 11
    return f"M {x - _GUTTER} {y} C {x + bend} {y}, {x - bend} {to}, {x + _GUTTER - 1} {to}"


def _cut(text: str, width: float) -> str:
    letters = int(width / _LETTER)
    return _clip(text, letters) if letters >= 3 else ""


def _clip(text: str, letters: int) -> str:
    return text if len(text) <= letters else f"{text[: letters - 1].rstrip()}…"
