"""Temporal structs as texts of the other precision modes; twin of `strandline.cells.structured`."""

from decimal import Decimal

from pyspark.sql import Column
from pyspark.sql import functions as F

from strandline.cells.spelling import CLOCK_OF_24, OFFSET_TIME
from strandline.cells.structured import INFINITY
from strandline.cells.types import ColumnType, Kind, Wire

_CORRUPT = "_corrupt STRING"
TEMPORAL = (
    "year INT, month INT, day INT, hour INT, minute INT, second INT, nanos INT, picoseconds BIGINT,"
    f" offsetSeconds INT, zoneId STRING, specialValue STRING, {_CORRUPT}"
)
PERIOD = (
    "years INT, months INT, days INT, hours INT, minutes INT, seconds BIGINT, nanos INT,"
    f" picoseconds BIGINT, {_CORRUPT}"
)


def written(parts: Column, of: ColumnType) -> Column:
    """ISO text, or the microseconds of a time of day; NULL where a part is missing or unfit."""
    if of.wire is Wire.STRUCTURED_DURATION:
        value = _interval(parts)
    elif of.wire is Wire.STRUCTURED_OFFSET_TIME:
        value = _zoned_time(parts)
    else:
        value = _micros_of_day(parts) if of.kind is Kind.TIME else _iso(parts, of)
    return F.when(parts["_corrupt"].isNull(), value)


def _iso(parts: Column, of: ColumnType) -> Column:
    """A year outside 1..9999 is written 0000; a missing part as `null`, which is no date."""
    year = F.when(parts["year"].between(1, 9999), parts["year"])
    year = year.when(parts["year"].isNotNull(), 0)
    text = F.format_string("%04d-%02d-%02d", year, parts["month"], parts["day"])
    if of.kind is not Kind.DATE:
        text = F.concat(text, F.lit("T"), _clock(parts))
    if of.kind is Kind.INSTANT:
        text = F.concat(text, _offset(parts))
    return F.when(parts["specialValue"].isNotNull(), INFINITY).otherwise(text)


def _micros_of_day(parts: Column) -> Column:
    seconds = (parts["hour"] * 60 + parts["minute"]) * 60 + parts["second"]
    micros = F.call_function("div", _picoseconds(parts), F.lit(1_000_000))
    return F.when(_is(CLOCK_OF_24, _clock(parts)), seconds.cast("bigint") * 1_000_000 + micros)


def _zoned_time(parts: Column) -> Column:
    clock = F.regexp_replace(_clock(parts), r"\.?0+\z", "")
    text = F.concat(clock, _offset(parts))
    return F.when(_is(OFFSET_TIME, text), text)


def _interval(parts: Column) -> Column:
    """Each part with its sign; the seconds exact to the picosecond."""
    whole = parts["seconds"].cast("decimal(20,0)")
    fraction = _picoseconds(parts).cast("decimal(20,0)") * F.lit(Decimal("1E-12"))
    seconds = (whole + fraction).cast("decimal(38,12)").cast("string")
    return F.concat(
        *(
            F.concat(F.lit(before), parts[name].cast("string"), F.lit(after))
            for before, name, after in (
                ("P", "years", "Y"), ("", "months", "M"), ("", "days", "DT"),
                ("", "hours", "H"), ("", "minutes", "M"),
            )
        ),
        F.regexp_replace(seconds, r"\.?0+\z", ""),
        F.lit("S"),
    )  # fmt: skip


def _clock(parts: Column) -> Column:
    return F.format_string(
        "%02d:%02d:%02d.%012d", parts["hour"], parts["minute"], parts["second"], _picoseconds(parts)
    )


def _picoseconds(parts: Column) -> Column:
    """Debezium 3.7 sends nanoseconds, later versions picoseconds."""
    return F.coalesce(parts["picoseconds"], parts["nanos"].cast("bigint") * 1000, F.lit(0))


def _offset(parts: Column) -> Column:
    """Neither offset nor zone is UTC; a zone alone would need the zone's rules: NULL."""
    none = F.when(parts["zoneId"].isNull(), F.lit(0))
    seconds = F.coalesce(parts["offsetSeconds"], none).cast("bigint")
    east = F.abs(seconds)
    minutes = F.format_string("%02d:%02d", F.floor(east / 3600), F.floor(east / 60) % 60)
    rest = F.when(east % 60 != 0, F.format_string(":%02d", east % 60)).otherwise("")
    signed = F.concat(F.when(seconds < 0, "-").otherwise("+"), minutes, rest)
    return F.when(seconds == 0, "Z").when(seconds.isNotNull(), signed)


def _is(pattern: str, text: Column) -> Column:
    return text.rlike(rf"\A(?:{pattern})\z")
