"""Workloads as they might arrive: in an order that Kafka can produce, cut into runs."""

from collections.abc import Iterable, Iterator
from itertools import pairwise

from strandline.changes.record import Record
from workloads.capture import captured
from workloads.choices import Choices
from workloads.kafka import arrival

Runs = list[list[Record]]


def arrivals(source: str, seeds: Iterable[int]) -> Iterator[tuple[int, Runs]]:
    """A workload of each seed, some with what a connector sends again, and cut into runs."""
    for seed in seeds:
        choices = Choices.seeded(seed)
        capture = captured(choices, source)
        again = capture.repeated if choices.chance(3) else ()
        records = [*arrival(choices, capture.records), *again]
        places = sorted(choices.below(len(records) + 1) for _ in choices.times(1, 5))
        yield seed, [records[one:end] for one, end in pairwise([0, *places, len(records)])]
