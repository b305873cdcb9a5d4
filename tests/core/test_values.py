"""Each wire form with values that are easily got wrong, and values that must be refused."""

from datetime import UTC, date, datetime
from decimal import Decimal

import pytest

from strandline.types import ColumnType, Kind, Wire, from_connect
from strandline.values import UnfitError, decode

DECIMAL = "org.apache.kafka.connect.data.Decimal"


def connect(kind, name=None, **parameters):
    return from_connect({"type": kind, "name": name, "parameters": parameters})


CASES = [
    (connect("int16"), -32768, -32768),
    (connect("int64"), "9007199254740993", 9007199254740993),
    (connect("boolean"), True, True),
    (connect("double"), "NaN", float("nan")),
    (connect("double"), 1, 1.0),
    (connect("bytes"), "IUKhAUXj1hU=", bytes.fromhex("2142a10145e3d615")),
    (connect("bytes", DECIMAL, scale="2", **{"connect.decimal.precision": "5"}), "A+g=", "10.00"),
    (connect("bytes", DECIMAL, scale="2", **{"connect.decimal.precision": "5"}), "/w==", "-0.01"),
    (
        connect("bytes", DECIMAL, scale="0"),
        "AN4LbU7p6KvqrDXWOAAAAA==",
        "1152921669392695199083567516452126720",
    ),
    (connect("int32", "io.debezium.time.Date"), -10551, date(1941, 2, 11)),
    (
        connect("int64", "io.debezium.time.Timestamp"),
        -1,
        datetime(1969, 12, 31, 23, 59, 59, 999000),
    ),
    (connect("int64", "io.debezium.time.MicroTimestamp"), 1, datetime(1970, 1, 1, 0, 0, 0, 1)),
    (
        connect("int64", "io.debezium.time.NanoTimestamp"),
        -1,
        datetime(1969, 12, 31, 23, 59, 59, 999999),
    ),
    (connect("int64", "io.debezium.time.MicroTime"), -3020399999999, -3020399999999),
    (connect("int32", "io.debezium.time.Time"), 1500, 1_500_000),
    (
        connect("string", "io.debezium.time.ZonedTimestamp"),
        "2026-03-01T19:30:11.062452+01:00",
        datetime(2026, 3, 1, 18, 30, 11, 62452, UTC),
    ),
    (
        connect("struct", "io.debezium.data.VariableScaleDecimal"),
        {"scale": 1, "value": "DA=="},
        "1.2",
    ),
    (
        connect("struct", "io.debezium.data.VariableScaleDecimal"),
        {"scale": -1, "value": "AQ=="},
        "10",
    ),
    (connect("array"), [1, {"a": None}], '[1,{"a":null}]'),
]


@pytest.mark.parametrize(("of", "value", "expected"), CASES)
def test_a_value_decodes_exactly(of, value, expected):
    found = decode(value, of)
    if of.kind is Kind.DECIMAL:
        assert (format(found, "f"), found) == (expected, Decimal(expected))
    else:
        assert repr(found) == repr(expected)


@pytest.mark.parametrize(
    ("of", "value"),
    [
        (ColumnType(Kind.INT16), 32768),
        (ColumnType(Kind.INT32), 1.5),
        (ColumnType(Kind.INT32), True),
        (ColumnType(Kind.BOOLEAN), 1),
        (ColumnType(Kind.DOUBLE), "abc"),
        (ColumnType(Kind.TEXT), 5),
        (ColumnType(Kind.BINARY, Wire.BASE64), "%%%"),
        (ColumnType(Kind.DECIMAL, Wire.BASE64, 3, 2), "A+g="),
        (ColumnType(Kind.DECIMAL, Wire.BASE64, 3, 2), ""),
        (ColumnType(Kind.DATE, Wire.DAYS), 2146033979),
        (ColumnType(Kind.LOCAL, Wire.MICROS), 9223372036854775807),
        (ColumnType(Kind.INSTANT, Wire.ISO), "2026-03-01T19:30:11"),
    ],
)
def test_a_value_that_is_not_of_its_type_is_refused(of, value):
    with pytest.raises(UnfitError):
        decode(value, of)


def test_a_decimal_that_spark_cannot_hold_is_exact_text():
    of = connect("bytes", DECIMAL, scale="2", **{"connect.decimal.precision": "60"})
    assert (of.kind, decode("A+g=", of)) == (Kind.TEXT, "10.00")
