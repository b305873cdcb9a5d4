"""A chart of the last day: a bar for each run, as high as what it landed, and the same in words."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import datetime, timedelta

from strandline.runs.standing import Run
from strandline.sources import duration
from strandline_airflow.runs.published import Published

DAY = timedelta(hours=24)
WIDTH, HEIGHT = 640.0, 96.0  # of what lies between the axes
_BAR = 3.0
_LEAST = 2.0  # what is seen of a run that landed nothing
_HOURS = 3  # between two marks of the axis
_STEPS = (1, 2, 5, 10)


@dataclass(frozen=True, slots=True)
class Bar:
    """One run; `hint` is told on hover."""

    x: float
    height: float
    failed: bool
    hint: str


@dataclass(frozen=True, slots=True)
class Mark:
    """A place on an axis, in pixels, and what stands there; `date` where a day begins."""

    at: float
    text: str
    date: str = ""


@dataclass(frozen=True, slots=True)
class Day:
    """The runs of the 24 hours before an instant, in a picture of `WIDTH` by `HEIGHT`.

    `levels` mark records upwards from the lower edge, `hours` the time from the left one.
    """

    bars: tuple[Bar, ...]
    hours: tuple[Mark, ...]
    levels: tuple[Mark, ...]
    words: str
    width: float = WIDTH
    height: float = HEIGHT
    bar: float = _BAR


@dataclass(frozen=True, slots=True)
class _Run:
    number: int
    at: datetime
    landed: int
    failed: bool
    seconds: float

    @property
    def hint(self) -> str:
        failed = ", failed" if self.failed else ""
        return (
            f"run {self.number}, {self.at:%Y-%m-%d %H:%M} UTC: "
            f"{_records(self.landed)}, {_length(self.seconds)}{failed}"
        )


def day_of_source(runs: Iterable[Run], now: datetime) -> Day:
    """The runs of a source."""
    return _day(
        (_Run(run.number, run.began_at, run.landed, run.failed > 0, run.seconds) for run in runs),
        now,
    )


def day_of_table(runs: Iterable[Published], now: datetime) -> Day:
    """What the runs did to one table."""
    return _day(
        (
            _Run(
                row.number,
                datetime.fromisoformat(row.began_at or row.planned_at),
                row.counts.landed,
                bool(row.error),
                row.seconds,
            )
            for row in runs
        ),
        now,
    )


def _day(runs: Iterable[_Run], now: datetime) -> Day:
    own = [run for run in runs if timedelta() <= now - run.at <= DAY]
    top = _top(max((run.landed for run in own), default=0))
    return Day(
        bars=tuple(
            Bar(
                x=_x(run.at, now),
                height=round(max(run.landed / top * HEIGHT, _LEAST), 1),
                failed=run.failed,
                hint=run.hint,
            )
            for run in own
        ),
        hours=tuple(_hours(now)),
        levels=tuple(_levels(top)) if own else (),
        words=_words(own),
    )


def _words(runs: list[_Run]) -> str:
    if not runs:
        return "No run in the last 24 hours."
    landed, failed = sum(run.landed for run in runs), sum(run.failed for run in runs)
    longest = max(runs, key=lambda run: run.seconds)
    number = "1 run" if len(runs) == 1 else f"{len(runs):,} runs"
    ended = f", {failed:,} of them failed" if failed else ", none failed"
    return (
        f"{number} in the last 24 hours{ended}; {_records(landed)} landed; the longest took "
        f"{_length(longest.seconds)} (run {longest.number})."
    )


def _records(count: int) -> str:
    return "1 record" if count == 1 else f"{count:,} records"


def _length(seconds: float) -> str:
    return f"{seconds:.1f}s" if seconds < 10 else duration.shown(timedelta(seconds=seconds))


def _top(most: int) -> int:
    """The end of the axis: the least of 1, 2, 5, 10, 20, 50 and so on that has room for it."""
    power: int = 10 ** (len(str(max(most, 1))) - 1)
    tops = [step * power for step in _STEPS]
    return min(top for top in tops if top >= most)


def _levels(top: int) -> Iterator[Mark]:
    """Nothing, the half where it is a whole number, and the end."""
    for level in (0, top // 2, top) if top % 2 == 0 else (0, top):
        yield Mark(round(level / top * HEIGHT, 1), _short(level))


def _short(count: int) -> str:
    """A number of one or two digits with its unit: 50, 5k, 20M."""
    for unit, size in (("G", 10**9), ("M", 10**6), ("k", 10**3)):
        if count >= size:
            return f"{count / size:g}{unit}"
    return str(count)


def _hours(now: datetime) -> Iterator[Mark]:
    """Every third full hour; the first and each midnight say the date."""
    hour = (now - DAY).replace(minute=0, second=0, microsecond=0) + timedelta(hours=1)
    first = True
    while hour <= now:
        if hour.hour % _HOURS == 0:
            date = f"{hour:%b} {hour.day}" if first or hour.hour == 0 else ""
            yield Mark(_x(hour, now), f"{hour:%H:%M}", date)
            first = False
        hour += timedelta(hours=1)


def _x(at: datetime, now: datetime) -> float:
    return round((WIDTH - _BAR) * (1 - (now - at) / DAY), 1)
