"""A small chart of the last day: a bar for each run, as high as what it landed."""

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime, timedelta

from strandline.runs.standing import Run
from strandline_airflow.runs.published import Published

DAY = timedelta(hours=24)
WIDTH, HEIGHT = 480.0, 44.0
_BAR = 4.0


@dataclass(frozen=True, slots=True)
class Bar:
    """One run; `hint` is told on hover."""

    x: float
    height: float
    failed: bool
    hint: str


@dataclass(frozen=True, slots=True)
class Day:
    """The runs of the 24 hours before an instant, in a picture of `WIDTH` by `HEIGHT`."""

    bars: tuple[Bar, ...]
    hours: tuple[tuple[float, str], ...]
    width: float = WIDTH
    height: float = HEIGHT
    bar: float = _BAR


def day_of_source(runs: Iterable[Run], now: datetime) -> Day:
    """The runs of a source."""
    return _day(
        (
            (run.began_at, run.landed, run.failed > 0, f"run {run.number}", run.seconds)
            for run in runs
        ),
        now,
    )


def day_of_table(runs: Iterable[Published], now: datetime) -> Day:
    """What the runs did to one table."""
    return _day(
        (
            (
                datetime.fromisoformat(row.began_at or row.planned_at),
                row.counts.landed,
                bool(row.error),
                f"run {row.number}",
                row.seconds,
            )
            for row in runs
        ),
        now,
    )


def _day(runs: Iterable[tuple[datetime, int, bool, str, float]], now: datetime) -> Day:
    own = [run for run in runs if timedelta() <= now - run[0] <= DAY]
    most = max((landed for _, landed, *_ in own), default=0) or 1
    return Day(
        bars=tuple(
            Bar(
                x=_x(at, now),
                height=round(max(landed / most * HEIGHT, 2), 1),
                failed=failed,
                hint=f"{name} at {at:%H:%M}: {landed:,} records, {seconds:.0f} s"
                + (", failed" if failed else ""),
            )
            for at, landed, failed, name, seconds in own
        ),
        hours=tuple(_hours(now)),
    )


def _hours(now: datetime) -> Iterable[tuple[float, str]]:
    """Every sixth full hour."""
    hour = now.replace(minute=0, second=0, microsecond=0)
    while now - hour < DAY:
        if hour.hour % 6 == 0:
            yield _x(hour, now), f"{hour:%H:%M}"
        hour -= timedelta(hours=1)


def _x(at: datetime, now: datetime) -> float:
    return round((WIDTH - _BAR) * (1 - (now - at) / DAY), 1)
