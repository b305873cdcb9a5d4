"""Where a workload's randomness comes from: hypothesis, which shrinks it, or a seeded generator."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from random import Random
from typing import TypeVar

from hypothesis import strategies as st

T = TypeVar("T")


@dataclass(frozen=True)
class Choices:
    """Every choice is a number below a bound; 0 is the plainest one, to which hypothesis shrinks.

    `draw(bound)` gives a number in [0, bound).
    """

    draw: Callable[[int], int]

    @staticmethod
    def drawn(draw: Callable) -> "Choices":
        """From the `draw` of a hypothesis composite."""
        return Choices(lambda bound: draw(_below(bound)))

    @staticmethod
    def seeded(seed: int) -> "Choices":
        """From a generator of its own: fast, the same each time, does not shrink."""
        return Choices(Random(seed).randrange)  # noqa: S311 - a simulation, no secret

    def below(self, bound: int) -> int:
        return self.draw(bound) if bound > 1 else 0

    def between(self, least: int, most: int) -> int:
        return least + self.below(most - least + 1)

    def chance(self, one_in: int) -> bool:
        """True once in so many times."""
        return self.below(one_in) == one_in - 1

    def times(self, least: int, most: int) -> Iterator[int]:
        """Counts, as often as chance has it. Each round is drawn by itself: easy to leave out."""
        for number in range(most):
            if number >= least and self.below(4) == 0:
                return
            yield number

    def pick(self, options: Sequence[T]) -> T:
        return options[self.below(len(options))]

    def some(self, options: Sequence[T], least: int, most: int) -> list[T]:
        """Between `least` and `most` different ones (fewer where there are not so many)."""
        left = list(options)
        number = self.between(min(least, len(left)), min(most, len(left)))
        return [left.pop(self.below(len(left))) for _ in range(number)]


@cache
def _below(bound: int) -> st.SearchStrategy[int]:
    return st.integers(0, bound - 1)
