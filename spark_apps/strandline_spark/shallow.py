"""Expressions kept small: many parts as shallow trees, and lists that end.

Spark walks expressions by recursion: a chain of hundreds of columns or ranges would be as deep.
"""

from collections.abc import Callable, Iterable
from operator import or_

from pyspark.sql import Column
from pyspark.sql import functions as F

# Values that a condition may list: they reach into the pages of files that lie in order of keys.
LISTED = 1_000


def joined(join: Callable[[Column, Column], Column], parts: Iterable[Column]) -> Column:
    """The parts in their order, joined in pairs, and pairs of pairs; there has to be one."""
    left = list(parts)
    while len(left) > 1:
        pairs = [join(*left[n : n + 2]) for n in range(0, len(left) - 1, 2)]
        left = pairs + left[len(left) - len(left) % 2 :]
    return left[0]


def any_of(conditions: Iterable[Column]) -> Column:
    """True where one of the conditions is."""
    return joined(or_, (F.lit(False), *conditions))
