"""What holds for all values of a type, beside the cases of the type table."""

import base64
import contextlib
import json
import math
import struct
from datetime import UTC, datetime, timedelta
from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st
from samples.typetable import ROWS, encoded

from strandline.cells.types import ColumnType, Kind, Wire
from strandline.cells.values import (
    MAX_MICROS,
    MIN_MICROS,
    Number,
    UnfitError,
    UnheldError,
    compact,
    decode,
    single,
)

MICROS = ColumnType(Kind.LOCAL, Wire.MICROS)
NANOS = ColumnType(Kind.LOCAL, Wire.NANOS)
ZONED = ColumnType(Kind.INSTANT, Wire.ISO)
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
)
SINGLES = st.integers(0, 2**32 - 1).map(
    lambda bits: struct.unpack("<f", struct.pack("<I", bits))[0]
)


@given(st.integers(-(10**38) + 1, 10**38 - 1), st.integers(0, 38))
def test_a_decimal_keeps_every_digit(number, scale):
    found = decode(encoded(number), ColumnType(Kind.DECIMAL, Wire.BASE64, 38, scale))
    assert found.as_tuple() == Decimal((number < 0, as_digits(number), -scale)).as_tuple()


@given(st.integers(), st.integers(0, 60))
def test_a_decimal_that_no_column_holds_is_its_exact_text(number, scale):
    text = decode(encoded(number), ColumnType(Kind.TEXT, Wire.BASE64, 0, scale))
    assert text == format(Decimal((number < 0, as_digits(number), -scale)), "f")


@given(st.integers(), st.integers(-30, 30), st.integers(1, 20))
def test_equal_numbers_of_different_scale_have_one_text(number, scale, more):
    of = ColumnType(Kind.TEXT, Wire.VARIABLE_SCALE)
    once = decode({"scale": scale, "value": encoded(number)}, of)
    again = decode({"scale": scale + more, "value": encoded(number * 10**more)}, of)
    assert once == again


@given(st.integers(), st.integers(1, 38), st.integers(0, 38))
def test_a_decimal_is_exact_or_refused(number, precision, scale):
    of = ColumnType(Kind.DECIMAL, Wire.BASE64, precision, min(scale, precision))
    if abs(number) < 10**precision:
        assert decode(encoded(number), of).as_tuple().digits[-1] == abs(number) % 10
    else:
        with pytest.raises(UnfitError):
            decode(encoded(number), of)


def as_digits(number):
    return tuple(int(digit) for digit in str(abs(number)))


@given(st.integers(-(2**63), 2**63 - 1))
def test_a_count_of_microseconds_is_that_moment_or_unheld(micros):
    if MIN_MICROS <= micros <= MAX_MICROS:
        assert decode(micros, MICROS) == datetime(1970, 1, 1) + timedelta(microseconds=micros)
    else:
        with pytest.raises(UnheldError):
            decode(micros, MICROS)


@given(st.integers(-(2**63) + 1, 2**63 - 2))
def test_a_count_of_nanoseconds_is_cut_downwards(nanos):
    assert decode(nanos, NANOS) == decode(nanos // 1000, MICROS)


@given(st.datetimes(datetime(1, 1, 2), datetime(9999, 12, 30)), st.integers(-1080, 1080))
def test_an_instant_is_the_same_in_every_zone_and_with_any_fraction_digits(moment, minutes):
    local = moment + timedelta(minutes=minutes)
    sign, away = "-" if minutes < 0 else "+", abs(minutes)
    zoned = f"{local.isoformat(timespec='microseconds')}{sign}{away // 60:02d}:{away % 60:02d}"
    assert decode(zoned, ZONED) == moment.replace(tzinfo=UTC)
    assert decode(f"{moment.isoformat(timespec='microseconds')}999Z", ZONED) == decode(zoned, ZONED)


@given(SINGLES.filter(math.isfinite))
def test_a_32_bit_float_has_the_shortest_text_that_reads_as_it(value):
    shown = single(value)
    assert struct.pack("<f", shown) == struct.pack("<f", value)
    digits = len(Decimal(repr(shown)).normalize().as_tuple().digits)
    shorter = f"{value:.{max(digits - 2, 0)}e}"
    assert digits == 1 or Decimal(value) == 0 or is_another(float(shorter), value)


def is_another(shorter, value):
    """Rounded to fewer digits it is no longer this float, or none at all."""
    try:
        return struct.pack("<f", shorter) != struct.pack("<f", value)
    except OverflowError:
        return True


@given(JSON)
def test_a_nested_document_reads_back_from_its_text(document):
    text = compact(document)
    assert json.loads(text) == document


def test_numbers_of_a_document_keep_their_spelling():
    text = (
        '{"a":[1.10,1.0E-5,1e400,-0.0,12345678901234567890.10],"b":123456789012345678901234567890}'
    )
    assert compact(json.loads(text, parse_float=Number)) == text


def test_a_document_may_be_nested_as_deeply_as_a_parser_lets_it():
    text = "[" * 900 + "]" * 900
    assert compact(json.loads(text)) == text


@given(st.binary())
def test_bytes_read_back(data):
    of = ColumnType(Kind.BINARY, Wire.BASE64)
    assert decode(base64.b64encode(data).decode(), of) == data


@given(st.binary(max_size=20))
def test_bits_are_the_little_endian_number_of_the_bytes(data):
    of = ColumnType(Kind.TEXT, Wire.BITS, 160)
    text = decode(base64.b64encode(data).decode(), of)
    assert (len(text), int(text, 2)) == (160, int.from_bytes(data, "little"))


CELLS = JSON | st.sampled_from(ROWS).map(lambda row: json.loads(row.wire, parse_float=Number))


@given(CELLS, st.sampled_from(ROWS))
def test_whatever_arrives_is_a_value_or_refused(cell, row):
    with contextlib.suppress(UnfitError, UnheldError):
        assert cell is None or decode(cell, row.of) is not None


def test_an_unheld_value_is_no_unfit_one():
    assert not issubclass(UnheldError, UnfitError)
