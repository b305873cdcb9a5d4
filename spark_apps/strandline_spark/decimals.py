"""Exact decimals from what JSON has of them: numbers in text, and bytes as hexadecimal digits.

Spark has no number of more than 38 digits, so longer ones are worked out in text.
"""

from decimal import Decimal

from pyspark.sql import Column
from pyspark.sql import functions as F

from strandline.cells.types import ColumnType
from strandline_spark.shallow import once

_HEX_OF_A_LONG = 16
_HEX_OF_38_DIGITS = 32
TWO_64 = Decimal(1 << 64)
# Longer numbers are kept in nine decimal digits a place and take up 24 bits at a time.
_PLACE = 1_000_000_000
_LIMB, _HEX_OF_A_LIMB = 1 << 24, 6


def exact(cell: Column, of: ColumnType) -> Column:
    """A JSON number as decimal; NULL where it has more digits than the type, never rounded."""
    return F.when(_fraction_digits(cell) <= of.scale, cell.try_cast(of.spark))


def _fraction_digits(number: Column) -> Column:
    written = F.length(F.regexp_extract(number, r"\.([0-9]+)", 1))
    exponent = F.regexp_extract(number, "[eE]([+-]?[0-9]+)", 1).try_cast("int")
    return written - F.coalesce(exponent, F.lit(0))


def _is_negative(digits: Column) -> Column:
    """Of a two's complement in hexadecimal: its first bit."""
    return digits >= "8"


def _extended(digits: Column, length: int) -> Column:
    return F.lpad(digits, length, F.when(_is_negative(digits), "F").otherwise("0"))


def fixed(digits: Column, of: ColumnType) -> Column:
    """A two's complement in hexadecimal as a whole number in text; NULL where it is too long."""
    if of.precision <= 18:
        return F.when(F.length(digits).between(1, _HEX_OF_A_LONG), _short(digits))
    return F.when(F.length(digits).between(1, _HEX_OF_38_DIGITS), _wide(digits))


def _short(digits: Column) -> Column:
    """Up to 64 bits; a negative base means that the highest bit is a sign."""
    return F.conv(_extended(digits, _HEX_OF_A_LONG), 16, -10)


def _wide(digits: Column) -> Column:
    """Up to 128 bits in two halves; NULL beyond 38 digits."""
    filled = _extended(digits, _HEX_OF_38_DIGITS)
    high = F.conv(F.left(filled, F.lit(_HEX_OF_A_LONG)), 16, -10).cast("decimal(20,0)")
    low = F.conv(F.right(filled, F.lit(_HEX_OF_A_LONG)), 16, 10).cast("decimal(20,0)")
    # A negative high half is one too low until the low one, a positive number, is added: with 38
    # digits that would not fit in between. So 2^64 changes sides.
    negative = _is_negative(digits)
    high += F.when(negative, 1).otherwise(0)
    low -= F.when(negative, F.lit(TWO_64)).otherwise(F.lit(Decimal(0)))
    return F.try_add(F.try_multiply(high, F.lit(TWO_64)), low).cast("string")


def written(digits: Column, scale: Column) -> Column:
    """The exact text of a two's complement of any length; `scale` counts its fraction digits."""
    fitting = F.when(F.length(digits) <= _HEX_OF_A_LONG, _short(digits)).when(
        F.length(digits) <= _HEX_OF_38_DIGITS, _wide(digits)
    )
    return F.when(
        F.length(digits) > 0,
        once(F.coalesce(fitting, _long(digits)), lambda n: _pointed(n, scale)),
    )


def _long(digits: Column) -> Column:
    """A two's complement of any length as a whole number in text; no number type holds it.

    A negative number is its inverted digits plus one.
    """
    negative = _is_negative(digits)
    inverted = F.translate(digits, "0123456789ABCDEF", "FEDCBA9876543210")
    length = F.ceil(F.length(digits) / _HEX_OF_A_LIMB).cast("int") * _HEX_OF_A_LIMB
    filled = F.lpad(F.when(negative, inverted).otherwise(digits), length, F.lit("0"))
    limbs = F.transform(
        F.regexp_extract_all(filled, F.lit(f"(.{{{_HEX_OF_A_LIMB}}})")),
        lambda limb: F.conv(limb, 16, 10).cast("bigint"),
    )
    places = F.aggregate(limbs, F.array().cast("array<bigint>"), _taken_up)
    one = F.when(negative, 1).otherwise(0).cast("bigint")
    start = F.struct(one.alias("carry"), F.array().cast("array<string>").alias("done"))
    texts = F.aggregate(
        places,
        start,
        _carried,
        lambda end: F.concat(F.array(end["carry"].cast("string")), end["done"]),
    )
    magnitude = _without_zeros(F.array_join(texts, ""))
    return F.concat(F.when(negative, "-").otherwise(""), magnitude)


def _without_zeros(digits: Column) -> Column:
    """The digits of a whole number without the zeros before it."""
    return F.regexp_replace(digits, "^0+(?=[0-9])", "")


def _taken_up(places: Column, limb: Column) -> Column:
    """The number in `places` (lowest first) times 2^24 plus the limb.

    A place hands its surplus to the next one only once, so it may exceed nine digits by a little;
    it never grows from step to step.
    """
    return F.transform(
        F.concat(places, F.array(F.lit(0).cast("bigint"))),
        lambda place, at: (
            place * _LIMB % _PLACE
            + F.coalesce(F.call_function("div", F.get(places, at - 1) * _LIMB, F.lit(_PLACE)), limb)
        ),
    )


def _carried(state: Column, place: Column) -> Column:
    total = place + state["carry"]
    digits = F.lpad((total % _PLACE).cast("string"), 9, "0")
    return F.struct(
        F.call_function("div", total, F.lit(_PLACE)).cast("bigint").alias("carry"),
        F.concat(F.array(digits), state["done"]).alias("done"),
    )


def _pointed(number: Column, scale: Column) -> Column:
    """A whole number in text with its decimal point; with zeros where the scale is negative."""
    magnitude = F.ltrim(number, F.lit("-"))
    sign = F.when(number.startswith("-"), "-").otherwise("")
    padded = F.lpad(magnitude, F.greatest(F.length(magnitude), scale + 1), F.lit("0"))
    point = F.greatest(F.length(magnitude) - scale, F.lit(1)) + 1
    return (
        F.when(scale > 0, F.concat(sign, F.overlay(padded, F.lit("."), point, F.lit(0))))
        .when((scale == 0) | (number == "0"), number)
        .otherwise(F.concat(number, F.repeat(F.lit("0"), -scale)))
    )


def padded(number: Column, places: int) -> Column:
    """A JSON number as text with that many fraction digits; NULL where it has more."""
    zeros = F.lit(places) - _fraction_digits(number)
    mantissa = F.translate(F.regexp_extract(number, "([0-9.]+)", 1), ".", "")
    digits = _without_zeros(F.concat(mantissa, F.repeat(F.lit("0"), zeros)))
    sign = F.when(number.rlike("^-[0.]*[1-9]"), "-").otherwise("")
    whole = F.concat(sign, digits)
    return F.when(zeros >= 0, once(whole, lambda text: _pointed(text, F.lit(places))))
