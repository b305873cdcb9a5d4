"""Nanoseconds beyond 64 bits: whichever moment was meant is found again, or flagged."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from strandline.cells.misfit import UnheldError
from strandline.cells.wrapping import FIRST, LAST, unwrapped

SECOND = 1_000_000_000


def sent(nanos):
    """As Java's long holds it."""
    return (nanos + 2**63) % 2**64 - 2**63


@pytest.mark.parametrize("step", [100, 1000, 1_000_000, SECOND])
@given(data=st.data())
def test_a_moment_with_fewer_digits_than_nanoseconds_is_what_it_was(step, data):
    moment = data.draw(st.integers(FIRST * 1000 // step, LAST * 1000 // step)) * step
    assert unwrapped(sent(moment), step) == moment


@given(st.integers(FIRST // 1_000_000, LAST // 1_000_000))
def test_a_whole_second_of_unknown_digits_is_what_it_was_or_flagged(second):
    moment = second * SECOND
    if moment == sent(moment):
        assert unwrapped(moment, 0) == moment
    else:
        with pytest.raises(UnheldError):
            unwrapped(sent(moment), 0)


@given(st.integers(-(2**63), 2**63 - 1))
def test_what_has_as_few_digits_as_its_column_keeps_is_as_it_was_sent(count):
    assert unwrapped(count - count % 100, 100) == count - count % 100


@pytest.mark.parametrize("step", [10, 100])
def test_what_no_moment_or_more_than_one_may_have_been_is_flagged(step):
    with pytest.raises(UnheldError):
        unwrapped(-(2**62) + 1, step)
