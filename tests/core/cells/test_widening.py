"""One type for what the records of a column declared, in whichever order they came."""

from itertools import permutations, product

import pytest

from strandline.cells.types import ColumnType, Kind
from strandline.cells.widening import common
from strandline.errors import Terminal

SIMPLE = tuple(kind for kind in Kind if kind is not Kind.DECIMAL)
DECIMALS = tuple(ColumnType(Kind.DECIMAL, precision=p, scale=s) for p, s in ((10, 2), (20, 18)))
TYPES = (*map(ColumnType, SIMPLE), *DECIMALS, ColumnType(Kind.DECIMAL, precision=38))


def outcome(types):
    try:
        return common("n", types).spark
    except Terminal:
        return None


@pytest.mark.parametrize("of", TYPES, ids=lambda of: of.spark)
def test_three_types_have_the_same_type_in_common_in_every_order(of):
    for others in product(TYPES, repeat=2):
        assert len({outcome(types) for types in permutations((of, *others))}) == 1, others


def test_a_double_holds_integers_and_floats_that_hold_each_other_not():
    assert outcome(map(ColumnType, (Kind.INT32, Kind.FLOAT, Kind.DOUBLE))) == "double"
    assert outcome(map(ColumnType, (Kind.INT32, Kind.FLOAT))) is None


def test_what_is_at_odds_is_named_as_it_came():
    with pytest.raises(Terminal, match="from smallint to string"):
        common("n", map(ColumnType, (Kind.INT16, Kind.INT32, Kind.TEXT)))
