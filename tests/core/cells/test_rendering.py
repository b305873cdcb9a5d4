"""How cells are printed."""

import json
from datetime import UTC, date, datetime, timedelta, timezone
from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from strandline.cells.rendering import floating, line


def test_a_row_prints_every_type_as_the_command_line_promises():
    cells = {
        "integer": 9007199254740993,
        "decimal": Decimal("1E+3"),
        "binary": b"\x00\xff",
        "date": date(1, 2, 3),
        "instant": datetime(2026, 3, 1, 19, 30, tzinfo=timezone(timedelta(hours=1))),
        "local": datetime(2026, 3, 1, 19, 30, 0, 5),
        "float": 0.1,
        "nan": float("nan"),
        "negative": float("-inf"),
        "text": "李",
        "missing": None,
    }
    assert line("t", cells) == (
        '{"_table": "t", "integer": 9007199254740993, "decimal": "1000", "binary": "AP8=", '
        '"date": "0001-02-03", "instant": "2026-03-01T18:30:00.000000Z", '
        '"local": "2026-03-01T19:30:00.000005", "float": 0.1, "nan": "NaN", '
        '"negative": "-Infinity", "text": "李", "missing": null}'
    )


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (0.0, "0.0"),
        (-0.0, "-0.0"),
        (1.0, "1.0"),
        (123.45, "123.45"),
        (0.001, "0.001"),
        (0.00099, "9.9E-4"),
        (9999999.0, "9999999.0"),
        (10000000.0, "1.0E7"),
        (-1.25e16, "-1.25E16"),
        (1.7976931348623157e308, "1.7976931348623157E308"),
        (float("inf"), "Infinity"),
        (float("-inf"), "-Infinity"),
        (float("nan"), "NaN"),
    ],
)
def test_a_float_in_a_key_is_spelled_as_java_spells_it(value, text):
    assert floating(value) == text


@given(st.floats(allow_nan=False, allow_infinity=False))
def test_a_float_in_a_key_reads_back(value):
    assert repr(float(floating(value))) == repr(value)
    assert json.loads(floating(value)) == value


@given(st.datetimes(timezones=st.just(UTC)))
def test_an_instant_prints_with_microseconds_and_z(moment):
    printed = json.loads(line("t", {"at": moment}))["at"]
    assert (len(printed), datetime.fromisoformat(printed)) == (27, moment)
