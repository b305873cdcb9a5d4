"""When Spark's tasks have run, by the event log of an application."""

import json
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True, slots=True)
class Busy:
    """Spans in which some task ran, in seconds of the clock; none touches another."""

    spans: tuple[tuple[float, float], ...]

    @staticmethod
    def of(log: Path) -> "Busy":
        """Those of an application that has ended, by its log, which is not compressed."""
        with log.open(encoding="utf-8") as lines:
            return Busy(tuple(_united(sorted(_tasks(lines)))))

    def seconds(self, since: float, until: float) -> float:
        """For how long some task ran between these two moments."""
        return sum(max(0.0, min(end, until) - max(start, since)) for start, end in self.spans)


def _tasks(lines: Iterable[str]) -> Iterator[tuple[float, float]]:
    for event in map(json.loads, lines):
        if event["Event"] == "SparkListenerTaskEnd":
            told = event["Task Info"]
            yield told["Launch Time"] / 1000, told["Finish Time"] / 1000


def _united(spans: Iterable[tuple[float, float]]) -> Iterator[tuple[float, float]]:
    own: tuple[float, float] | None = None
    for start, end in spans:
        if own is None or start > own[1]:
            if own is not None:
                yield own
            own = start, end
        else:
            own = own[0], max(own[1], end)
    if own is not None:
        yield own
