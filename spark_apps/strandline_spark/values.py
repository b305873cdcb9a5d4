"""JSON text to typed columns, one decoder per wire form; the twin of `strandline.values`.

`from_json` hands every cell over as text (numbers as their digits); a text that is no value of its
type becomes NULL, which `decode` reports as `bad_value`. Nothing is rounded or cut.
"""

from collections.abc import Callable

from pyspark.sql import Column
from pyspark.sql import functions as F

from strandline.types import ColumnType, Kind, Wire

_BYTES_OF_A_LONG = 8
_WIDE = 32  # hexadecimal digits of 16 bytes, enough for 38 decimal digits
_INTEGERS = {Wire.DAYS, Wire.MILLIS, Wire.MICROS, Wire.NANOS}
# Microseconds of 0001-01-01 and of the last one of 9999: what DATE and TIMESTAMP hold.
MIN_MICROS = -62_135_596_800_000_000
MAX_MICROS = 253_402_300_799_999_999
_MIN_DAYS = -719_162
_MAX_DAYS = 2_932_896


def decode(text: Column, of: ColumnType) -> Column:
    """The typed column; NULL where `text` is NULL or no value of the type."""
    return finish(prepare(text, of), of)


def prepare(text: Column, of: ColumnType) -> Column:
    """The first step of a decoder whose second one looks at its result many times."""
    if of.wire is Wire.BASE64:
        data = F.try_to_binary(text, F.lit("base64"))
        return data if of.kind is Kind.BINARY else F.hex(data)
    if of.wire in _INTEGERS:
        return _plain(text, ColumnType(Kind.INT64))
    return text


def finish(prepared: Column, of: ColumnType) -> Column:
    """The second step: the typed column from what `prepare` made."""
    return _DECODERS[of.wire](prepared, of)


def instant(micros: Column) -> Column:
    """Microseconds since the epoch as a timestamp; NULL outside the years 1 to 9999."""
    return F.when(micros.between(MIN_MICROS, MAX_MICROS), F.timestamp_micros(micros))


def text(value: Column, of: ColumnType) -> Column:
    """A typed value as `strandline.key` shows it: integers and booleans as such, others as text."""
    match of.kind:
        case Kind.BOOLEAN | Kind.INT16 | Kind.INT32 | Kind.INT64 | Kind.TIME | Kind.TEXT:
            return value
        case Kind.BINARY:
            return F.base64(value)
        case Kind.LOCAL:
            return F.date_format(value, "yyyy-MM-dd'T'HH:mm:ss.SSSSSS")
        case Kind.INSTANT:
            return F.date_format(value, "yyyy-MM-dd'T'HH:mm:ss.SSSSSS'Z'")
        case _:
            return value.cast("string")


def _plain(value: Column, of: ColumnType) -> Column:
    match of.kind:
        case Kind.TEXT:
            return value
        case Kind.INT16 | Kind.INT32 | Kind.INT64:
            # try_cast would truncate "1.5" and read " 1 ": only digits are an integer.
            return F.when(value.rlike(r"^-?\d+$"), value.try_cast(of.spark))
        case Kind.BOOLEAN:
            return F.when(value == "true", F.lit(True)).when(value == "false", F.lit(False))
        case _:
            return value.try_cast(of.spark)


def _base64(prepared: Column, of: ColumnType) -> Column:
    if of.kind is Kind.BINARY:
        return prepared
    number = _unscaled(prepared, of)
    exact = F.concat(number.cast("string"), F.lit(f"E-{of.scale}"))
    if of.kind is Kind.DECIMAL:
        return exact.try_cast(of.spark)
    return (
        number.cast("string")
        if of.scale == 0
        else exact.try_cast(f"decimal(38,{of.scale})").cast("string")
    )


def _unscaled(digits: Column, of: ColumnType) -> Column:
    """Big-endian two's complement in hexadecimal as decimal(38,0), up to 16 bytes.

    Long ones in limbs of 32 bits; negatives by subtraction from a literal, since Spark's unary
    minus rounds wide decimals (delta-facts, "Correctness traps").
    """
    negative = F.substring(digits, 1, 1) >= "8"
    short = _limb(F.when(negative, _complement(digits)).otherwise(digits))
    short = F.when(negative, F.lit(-1).cast("decimal(38,0)") - short).otherwise(short)
    short = F.when(F.length(digits).between(1, 2 * _BYTES_OF_A_LONG), short)
    if 0 < of.precision <= 18:
        return short
    filled = F.when(negative, F.lpad(_complement(digits), _WIDE, "0")).otherwise(
        F.lpad(digits, _WIDE, "0")
    )
    wide = F.lit(0).cast("decimal(38,0)")
    for start in range(1, _WIDE, 8):
        wide = (wide * F.lit(1 << 32) + _limb(F.substring(filled, start, 8))).cast("decimal(38,0)")
    wide = F.when(
        negative, (F.lit(-1).cast("decimal(38,0)") - wide).cast("decimal(38,0)")
    ).otherwise(wide)
    wide = F.when(F.length(digits) <= _WIDE, wide)
    return F.coalesce(short.cast("decimal(38,0)"), wide)


def _complement(digits: Column) -> Column:
    return F.translate(digits, "0123456789ABCDEF", "FEDCBA9876543210")


def _limb(digits: Column) -> Column:
    return F.conv(digits, 16, 10).cast("decimal(20,0)")


def _variable_scale(value: Column, of: ColumnType) -> Column:
    """Exact text, as many fraction digits as the scale says."""
    parts = F.from_json(value, "scale INT, value STRING")
    digits = F.hex(F.try_to_binary(parts["value"], F.lit("base64")))
    number = _unscaled(digits, ColumnType(of.kind, Wire.BASE64)).cast("string")
    scale = parts["scale"]
    sign = F.when(number.startswith("-"), "-").otherwise("")
    magnitude = F.ltrim(number, F.lit("-"))
    padded = F.lpad(magnitude, F.greatest(F.length(magnitude), scale + 1), "0")
    whole = padded.substr(F.lit(1), F.length(padded) - scale)
    fraction = padded.substr(F.length(padded) - scale + 1, scale)
    zeros = F.when(magnitude == "0", "0").otherwise(
        F.concat(magnitude, F.repeat(F.lit("0"), -scale))
    )
    return (
        F.when(scale > 0, F.concat(sign, whole, F.lit("."), fraction))
        .when(scale == 0, number)
        .otherwise(F.concat(sign, zeros))
    )


def _days(value: Column, of: ColumnType) -> Column:
    del of
    days = value.between(_MIN_DAYS, _MAX_DAYS)
    return F.when(days, F.date_add(F.lit("1970-01-01"), value.cast("int")))


def _ticks(multiply: int, divide: int = 1) -> Callable[[Column, ColumnType], Column]:
    def decoder(ticks: Column, of: ColumnType) -> Column:
        limit = (1 << 63) // multiply - 1
        micros = F.when(ticks.between(-limit, limit), ticks * multiply) if multiply > 1 else ticks
        if divide > 1:
            micros = (micros - F.pmod(micros, F.lit(divide))) / divide
            micros = micros.cast("bigint")
        if of.kind is Kind.TIME:
            return micros
        return instant(micros).cast("timestamp_ntz")  # the session's time zone is UTC

    return decoder


def _iso(value: Column, of: ColumnType) -> Column:
    return value.try_cast(of.spark)


def _json(value: Column, of: ColumnType) -> Column:
    del of
    return value


_DECODERS: dict[Wire, Callable[[Column, ColumnType], Column]] = {
    Wire.PLAIN: _plain,
    Wire.BASE64: _base64,
    Wire.VARIABLE_SCALE: _variable_scale,
    Wire.DAYS: _days,
    Wire.MILLIS: _ticks(1000),
    Wire.MICROS: _ticks(1),
    Wire.NANOS: _ticks(1, 1000),
    Wire.ISO: _iso,
    Wire.JSON: _json,
}
