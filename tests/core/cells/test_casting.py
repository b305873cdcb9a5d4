"""Cells of files and databases become the values of a history's columns."""

from datetime import UTC, date, datetime, time, timedelta
from decimal import Decimal

import pytest

from strandline.cells.casting import cast, text
from strandline.cells.widening import stored

LOCAL = datetime(2026, 1, 2, 3, 4, 5, 600_000)
INSTANT = LOCAL.replace(tzinfo=UTC)


@pytest.mark.parametrize(
    ("cell", "of", "value"),
    [
        (" 7", "int", 7),
        ("+7", "smallint", 7),
        (7.0, "bigint", 7),
        (Decimal("7.00"), "bigint", 7),
        (time(0, 0, 1, 5), "bigint", 1_000_005),
        (timedelta(hours=25), "bigint", 90_000_000_000),
        ("true", "boolean", True),
        ("F", "boolean", False),
        (1, "boolean", True),
        ("1e3", "double", 1000.0),
        ("-Infinity", "double", float("-inf")),
        (0.10000000149011612, "float", 0.1),
        ("12.345", "decimal(10,2)", Decimal("12.35")),
        (1, "decimal(10,2)", Decimal("1.00")),
        (0.1, "decimal(10,2)", Decimal("0.10")),
        ("-0", "decimal(10,2)", Decimal("0.00")),
        ("AQI=", "binary", b"\x01\x02"),
        (b"\x01", "binary", b"\x01"),
        ("2026-01-02", "date", date(2026, 1, 2)),
        ("2026-01-02 00:00:00", "date", date(2026, 1, 2)),
        (LOCAL, "date", date(2026, 1, 2)),
        ("2026-01-02 03:04:05.6", "timestamp_ntz", LOCAL),
        ("2026-01-02T03:04:05.6+07:00", "timestamp_ntz", LOCAL),
        (INSTANT, "timestamp_ntz", LOCAL),
        (date(2026, 1, 2), "timestamp_ntz", datetime(2026, 1, 2)),
        ("2026-01-02 04:04:05.6+01", "timestamp", INSTANT),
        ("2026-01-02T03:04:05.6Z", "timestamp", INSTANT),
        (LOCAL, "timestamp", INSTANT),
        (" as it is ", "string", " as it is "),
        ("", "string", ""),
        (7, "string", "7"),
        (True, "string", "true"),
        (1.0, "string", "1.0"),
        (Decimal("1.50"), "string", "1.50"),
        ({"a": [1, None, b"\x01"]}, "string", '{"a":[1,null,"AQ=="]}'),
        (None, "int", None),
    ],
)
def test_a_cell_is_read_by_the_type_of_its_column(cell, of, value):
    found = cast(cell, stored(of))
    assert (found, type(found)) == (value, type(value))


@pytest.mark.parametrize(
    ("cell", "of"),
    [
        ("", "int"),
        ("one", "int"),
        ("1.5", "int"),
        (1.5, "int"),
        ("1_000", "int"),
        ("32768", "smallint"),
        ("maybe", "boolean"),
        ("1_0.0", "double"),
        ("x", "decimal(10,2)"),
        ("123456789.00", "decimal(10,2)"),
        ("no base64!", "binary"),
        ("2026-02-30", "date"),
        ("2026-01-02x", "date"),
        ("tomorrow", "timestamp"),
        (7, "timestamp"),
        (float("nan"), "decimal(10,2)"),
        (float("inf"), "bigint"),
    ],
)
def test_a_cell_that_is_no_value_of_its_column_is_refused(cell, of):
    with pytest.raises(ValueError):  # noqa: PT011 - which of them, nobody is told
        cast(cell, stored(of))


@pytest.mark.parametrize(
    ("value", "of"),
    [
        (None, "int"),
        (-(1 << 63), "bigint"),
        (True, "boolean"),
        (0.1, "float"),
        (1e-300, "double"),
        (float("inf"), "double"),
        (Decimal("-0.10"), "decimal(38,2)"),
        (Decimal(12345678901234567890123456789012345678), "decimal(38,0)"),
        ("", "string"),
        (b"\x00\xff", "binary"),
        (date(1, 1, 1), "date"),
        (LOCAL, "timestamp_ntz"),
        (INSTANT, "timestamp"),
    ],
)
def test_a_value_is_what_its_text_is_read_as(value, of):
    assert cast(text(value), stored(of)) == value
