"""What stands below the columns of a timeline: the day, the time, and parts of a second."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Label:
    """The time of a column, as far as it is not that of the label before; "" where it is."""

    column: int
    date: str
    clock: str
    fraction: str


def labels(ticks: Sequence[str], every: int) -> Iterator[Label]:
    """A label for each so many columns; `ticks` has the time of each, as `rendering` spells it."""
    day = second = ""
    for column in range(0, len(ticks), every):
        date, _, time = ticks[column].rstrip("Z").partition("T")
        clock, _, fraction = time.partition(".")
        same_day = date == day
        yield Label(
            column,
            date="" if same_day else date,
            clock="" if same_day and clock == second else clock,
            fraction=f".{fraction}" if fraction.strip("0") else "",
        )
        day, second = date, clock
