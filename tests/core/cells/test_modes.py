"""How a connector writes values: what speaks against the mode that is assumed."""

import base64
import random
from datetime import datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from strandline.cells.modes import BINARY, MODES, NOT_SAID, TIME, defined, remedy, written
from strandline.cells.types import from_connect
from strandline.cells.values import UnfitError, decode

BYTES = from_connect({"type": "bytes"})
SPELLINGS = {
    "bytes": lambda data: base64.b64encode(data).decode(),
    "base64": lambda data: base64.b64encode(data).decode(),
    "base64-url-safe": lambda data: base64.urlsafe_b64encode(data).decode(),
    "hex": bytes.hex,
}
EPOCH = datetime(1970, 1, 1)
TICKS = {"connect": 1 / 1000, "microseconds": 1, "nanoseconds": 1000}  # of a microsecond
NATIVE = {"type": "int64", "name": "io.debezium.time.MicroTimestamp"}


def test_every_mode_of_bytes_is_tried_here():
    assert set(SPELLINGS) == set(MODES[BINARY])


@pytest.mark.parametrize("mode", SPELLINGS)
@given(st.binary())
def test_bytes_are_what_they_were_in_every_mode_that_is_said(mode, data):
    assert decode(SPELLINGS[mode](data), written(BYTES, {BINARY: mode})) == data


@pytest.mark.parametrize("mode", SPELLINGS)
@given(st.binary())
def test_bytes_are_never_other_bytes_where_no_mode_is_said(mode, data):
    of = written(BYTES, NOT_SAID)
    try:
        assert decode(SPELLINGS[mode](data), of) == data
    except UnfitError:
        assert BINARY in remedy(of)


@pytest.mark.parametrize("size", [4, 5, 16, 20, 32])
def test_bytes_in_the_default_mode_need_no_word_where_no_three_of_them_are_a_group(size):
    seeded = random.Random(size)  # noqa: S311 - nobody guesses it
    for _ in range(2000):
        data = seeded.randbytes(size)
        assert decode(SPELLINGS["bytes"](data), written(BYTES, NOT_SAID)) == data


@pytest.mark.parametrize("mode", TICKS)
@given(at=st.datetimes(datetime(2002, 1, 1), datetime(2100, 1, 1)))
def test_a_time_of_this_century_is_never_another_one_where_no_mode_is_said(mode, at):
    micros = (at - EPOCH) // timedelta(microseconds=1)
    micros -= micros % 1000  # what milliseconds hold, too
    at, sent = EPOCH + timedelta(microseconds=micros), round(micros * TICKS[mode])
    of = defined(NATIVE, NOT_SAID)
    if mode == "microseconds":
        assert decode(sent, of) == at
    else:
        with pytest.raises(UnfitError):
            decode(sent, of)
    assert decode(sent, defined(NATIVE, {TIME: mode})) == at
