"""JSON text to typed columns, one decoder per wire form; the twin of `strandline.cells.values`.

`from_json` hands every cell over as text. `finish(prepare(text))` is the value; where it is NULL
although a text was sent, `unheld` says whether the text is a value of its type that the column has
no room for, and if not it is no value at all. Nothing is rounded or cut.

`from_json` reads fractions as doubles and does not tell 12 from "12". Where that matters, decimals
as JSON numbers and nested documents, `respelled` reads the cell once more, digit by digit.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from decimal import Decimal

from pyspark.sql import Column
from pyspark.sql import functions as F

from strandline.cells import spelling
from strandline.cells.types import MAX_SCALE, ColumnType, Kind, Wire
from strandline.cells.values import HELD, MAX_MICROS, MIN_MICROS
from strandline_spark import decimals, structured
from strandline_spark.shallow import any_of, once

STRICT = {
    "mode": "PERMISSIVE",
    "columnNameOfCorruptRecord": "_corrupt",
    "allowSingleQuotes": "false",
    "allowNonNumericNumbers": "false",
}

_COUNTS = {Wire.DAYS: "int"} | dict.fromkeys(
    (Wire.MILLIS, Wire.MICROS, Wire.NANOS, Wire.DURATION), "bigint"
)
_ISO = {
    Kind.DATE: spelling.ISO_DATE,
    Kind.LOCAL: spelling.ISO_LOCAL,
    Kind.INSTANT: spelling.ISO_INSTANT,
}
_TEMPORAL = (Kind.DATE, Kind.LOCAL, Kind.INSTANT)
_UNSIGNED = (-(1 << 63), (1 << 64) - 1)

# Stands before a bare number, true or false in a document that `marked` made.
_MARK = "\x01"
# Group 1 is what stands before the next of them, group 2.
_BARE = rf'\G((?:[^"0-9tf-]++|{spelling.STRING})*+)(-?[0-9][0-9.eE+-]*+|true|false)'
_MARKED = r'"\\u0001(-?[0-9][0-9.eE+-]*+|true|false)"'
_MARKED_SCALAR = r"\A\x01(?:-?[0-9][0-9.eE+-]*+|true|false)\z"
_LOOKS_BARE = r"-?[0-9][0-9.eE+-]*|true|false|\"-?Infinity\""
_FRACTION = r"[0-9][.eE]|Infinity"
# Where a bare number may stand, or true or false; of texts alone hardly ever any.
_BARE_BEGINS = r"[:,\[][ \t\n\r]*+(?:-|[0-9]|true|false)"
_FRACTION_BEGINS = r"[:,\[][ \t\n\r]*+-?[0-9]++[.eE]"
_BYTES = frozenset({Wire.BASE64, Wire.BITS})
_LOOKS_LIKE_A_DOUBLE = (
    r"\A(?:-?[0-9]+\.[0-9]+(?:E-?[0-9]+)?\z|\"-?Infinity\"\z|[\[{][\s\S]*?(?:[0-9][.eE]|Infinity))"
)


def decode(text: Column, of: ColumnType) -> Column:
    """The typed column; NULL where `text` is NULL, unfit or unheld."""
    return finish(prepare(text, of), of)


def prepare(text: Column, of: ColumnType) -> Column:
    """The first step of a decoder whose second one looks at its result many times."""
    if of.wire in _COUNTS:
        return _when_matched(spelling.INTEGER, text, text.try_cast(_COUNTS[of.wire]))
    return _PREPARE.get(of.wire, _as_it_is)(text, of)


def finish(prepared: Column, of: ColumnType) -> Column:
    """The second step: the typed column from what `prepare` made."""
    return _FINISH[of.wire](prepared, of)


def unheld(prepared: Column, of: ColumnType) -> Column | None:
    """True where the text is a value of its type that the column cannot hold, else false.

    None for a type whose column holds everything.
    """
    found: Column | None = None
    if of.wire is Wire.PLAIN and of.kind is Kind.DECIMAL:
        found = prepared.isin(*spelling.NO_DECIMAL)
    elif of.wire in HELD and of.kind is not Kind.TIME:
        found = ~prepared.between(*HELD[of.wire])
    elif of.wire in {Wire.ISO, Wire.STRUCTURED} and of.kind in _TEMPORAL:
        found = _matches(_ISO[of.kind], prepared) & _iso(prepared, of).isNull()
    return None if found is None else F.coalesce(found, F.lit(False))


def comparable_json(document: Column) -> Column:
    """A document without the white space outside its strings."""
    return F.regexp_replace(document, spelling.SPACE, "$1")


def instant(micros: Column) -> Column:
    """Microseconds since the epoch as a timestamp; NULL outside the years 1 to 9999."""
    return F.when(micros.between(MIN_MICROS, MAX_MICROS), F.timestamp_micros(micros))


def json(value: Column, of: ColumnType) -> Column:
    """A typed value as JSON, as `changes.key` shows it: the same when its type widens."""
    text = _text(value, of)
    match of.kind:
        case Kind.BOOLEAN | Kind.INT16 | Kind.INT32 | Kind.INT64 | Kind.TIME | Kind.DECIMAL:
            return text
        case _:
            # A string alone is no document to Spark: it stands in an array, whose brackets go.
            return F.btrim(F.to_json(F.array(text)), F.lit("[]"))


def widened(value: Column, of: ColumnType, to: ColumnType) -> Column:
    """A typed value in the wider type of its column, as `strandline.widening.widen` gives it."""
    if of.spark == to.spark:
        return value
    return _text(value, of) if to.kind is Kind.TEXT else value.cast(to.spark)


def _shortest(digits: Column, scale: int) -> Column:
    """A decimal number without the zeros at its end."""
    return F.rtrim(F.rtrim(digits, F.lit("0")), F.lit(".")) if scale else digits


def _text(value: Column, of: ColumnType) -> Column:
    match of.kind:
        case Kind.DECIMAL:
            return _shortest(value.cast("string"), of.scale)
        case Kind.BINARY:
            return F.base64(value)
        case Kind.LOCAL:
            time = F.date_format(value, "yyyy-MM-dd'T'HH:mm:ss.SSSSSS")
            day = value.cast("date").cast("timestamp_ntz")
            return F.when(day == value, value.cast("date").cast("string")).otherwise(time)
        case Kind.INSTANT:
            return F.date_format(value, "yyyy-MM-dd'T'HH:mm:ss.SSSSSS'Z'")
        case _:
            return value.cast("string")


def respelled(
    payload: Column,
    image: str | None,
    cells: Mapping[str, tuple[Column, Mapping[int, ColumnType]]],
    value: Callable[[str, Column], Column],
) -> Column | None:
    """Those cells once more, spelled as they were sent: a struct of texts for `prepare`.

    `image` is the field of the payload that holds the cells, None where they stand at its top;
    `cells` are the texts that `from_json` gave, with their types by `schema_id`, and `value` takes
    that of a column out of the document that may be wrapped around it: before the marks go, which
    are what keeps digits. A field is NULL where nothing could have been lost, and so is the struct
    where no field is wanted; None where no type could lose anything. Text columns are worth their
    while only where no schema warrants that their cells are strings.
    """
    wanted = {
        name: (F.coalesce(any_of(doubts), F.lit(False)), types)
        for name, (cell, types) in cells.items()
        if (doubts := list(_doubts(cell, types.values())))
    }
    if not wanted:
        return None
    fields = ", ".join("`" + name.replace("`", "``") + "`: STRING" for name in wanted)
    schema = f"STRUCT<{fields}>" if image is None else f"{image} STRUCT<{fields}>"
    found = F.from_json(marked(payload), schema, STRICT)
    texts = once(
        found if image is None else found[image],
        lambda row: F.struct(
            *(
                F.when(doubt, as_sent(value(name, row.getField(name)), types)).alias(name)
                for name, (doubt, types) in wanted.items()
            )
        ),
    )
    return F.when(any_of(doubt for doubt, _ in wanted.values()), texts)


def marked(document: Column) -> Column:
    """The document with bare numbers, true and false as strings that begin with a mark."""
    return F.regexp_replace(document, _BARE, r'$1"\\u0001$2"')


def has_fraction(cell: Column) -> Column:
    """Whether a number, as `from_json` gives it, had a fraction or an exponent."""
    return cell.rlike(_FRACTION)


def is_bytes(of: ColumnType) -> bool:
    """Whether decoders of the type look at the mark: a bare number may look like base64."""
    return of.wire in _BYTES


def may_lose(document: Column, types: Iterable[ColumnType | None]) -> Column | None:
    """Whether `from_json` may change cells of a document, of these types or of one not declared.

    None where no type could lose anything.
    """
    found = set(types)
    if any(of is not None and is_bytes(of) for of in found):
        return document.rlike(_BARE_BEGINS)
    if any(of is None or is_lossy(of) for of in found):
        return document.rlike(_FRACTION_BEGINS)
    return None


def is_plain_text(of: ColumnType) -> bool:
    """Whether a schema that names the type warrants that its cells are strings."""
    return of.kind is Kind.TEXT and of.wire is Wire.PLAIN


def is_lossy(of: ColumnType) -> bool:
    """Whether `from_json` may change a cell of that type, or hide that it is no string."""
    if of.wire in {Wire.JSON, Wire.JSON_TEXT} or is_bytes(of):
        return True
    return of.wire is Wire.PLAIN and of.kind in {Kind.DECIMAL, Kind.TEXT}


def unmarked(cell: Column) -> Column:
    """A cell of a marked document as it was sent."""
    is_scalar = cell.startswith(_MARK) & cell.rlike(_MARKED_SCALAR)
    scalar = F.when(is_scalar, F.substring(cell, 2, 2**31 - 1))
    return scalar.otherwise(F.regexp_replace(cell, _MARKED, "$1"))


def as_sent(cell: Column, types: Mapping[int, ColumnType | None]) -> Column:
    """A cell of a marked document as the decoder of its type takes it: those of bytes want marks.

    `types` are the column's by `schema_id`.
    """
    marks = sorted(number for number, of in types.items() if of is not None and is_bytes(of))
    if not marks:
        return unmarked(cell)
    if len(marks) == len(types):
        return cell
    return F.when(F.col("schema_id").isin(*marks), cell).otherwise(unmarked(cell))


def _doubts(cell: Column, types: Iterable[ColumnType]) -> Iterator[Column]:
    for of in dict.fromkeys(types):
        doubt = _doubtful(cell, of)
        if doubt is not None:
            yield doubt


def _doubtful(cell: Column, of: ColumnType) -> Column | None:
    """True where the cell may be a number that `from_json` changed, or no string at all."""
    if is_bytes(of):
        return _matches(_LOOKS_BARE, cell)
    if of.wire is Wire.JSON or (of.wire is Wire.PLAIN and of.kind is Kind.DECIMAL):
        return has_fraction(cell)
    if of.wire in {Wire.PLAIN, Wire.JSON_TEXT} and of.kind is Kind.TEXT:
        # What begins like a word is none, and that is soon told.
        begins = (cell < ":") | cell.startswith("[") | cell.startswith("{")
        return begins & cell.rlike(_LOOKS_LIKE_A_DOUBLE)
    return None


def _matches(pattern: str, cell: Column) -> Column:
    return cell.rlike(rf"\A(?:{pattern})\z")


def _when_matched(pattern: str, cell: Column, value: Column) -> Column:
    return F.when(_matches(pattern, cell), value)


def _as_it_is(cell: Column, of: ColumnType) -> Column:
    del of
    return cell


# ---------------------------------------------------------------- JSON's own types


def _plain(cell: Column, of: ColumnType) -> Column:
    match of.kind:
        case Kind.INT16 | Kind.INT32 | Kind.INT64:
            # try_cast would truncate "1.5" and read " 1 ": only digits are an integer.
            value = cell.try_cast(of.spark)
            plain = F.when(value.cast("string") == cell, value)  # soon told, and mostly so
            return plain.when(_matches(spelling.INTEGER, cell), value)
        case Kind.BOOLEAN:
            return F.when(cell == "true", F.lit(True)).when(cell == "false", F.lit(False))
        case Kind.FLOAT | Kind.DOUBLE:
            # By way of double, as JSON numbers are read.
            value = cell.try_cast("double").cast(of.spark)
            finite = _matches(spelling.NUMBER, cell) & (F.abs(value) < float("inf"))
            return F.when(cell.isin(*spelling.NOT_FINITE) | finite, value)
        case Kind.DECIMAL:
            return _when_matched(spelling.NUMBER, cell, decimals.exact(cell, of))
        case _:
            return cell


def _prepare_unsigned(cell: Column, of: ColumnType) -> Column:
    return _when_matched(spelling.INTEGER, cell, cell.try_cast(of.spark))


def _unsigned(number: Column, of: ColumnType) -> Column:
    """JDBC's 64 bits have a sign: the upper half of an unsigned BIGINT comes as negative."""
    least, most = (F.lit(Decimal(limit)) for limit in _UNSIGNED)
    whole = F.when(number < 0, number + F.lit(decimals.TWO_64)).otherwise(number)
    return F.when(number.between(least, most), whole.cast(of.spark))


# ---------------------------------------------------------------- bytes and decimals


def _is_base64(cell: Column) -> Column:
    return (F.length(cell) % 4 == 0) & _matches(spelling.BASE64, cell)


def _prepare_base64(cell: Column, of: ColumnType) -> Column:
    """Bytes; of a decimal their hexadecimal digits, or `n` and the JSON number that it is."""
    data = F.unbase64(cell)
    if of.kind is Kind.BINARY:
        return F.when(_is_base64(cell), data)
    number = F.concat(F.lit("n"), F.translate(cell, _MARK, ""))
    return F.when(_is_base64(cell), F.hex(data)).otherwise(
        _when_matched(f"n(?:{spelling.NUMBER})", number, number)
    )


def _base64(prepared: Column, of: ColumnType) -> Column:
    if of.kind is Kind.BINARY:
        return prepared
    number = F.substring(prepared, 2, 2**31 - 1)
    if of.kind is Kind.DECIMAL:
        from_bytes = F.concat(decimals.fixed(prepared, of), F.lit(f"E-{of.scale}")).try_cast(
            of.spark
        )
        from_number = decimals.exact(number, of)
    else:
        from_bytes = decimals.written(prepared, F.lit(of.scale))
        from_number = decimals.padded(number, max(of.scale, 0))
    return F.when(prepared.startswith("n"), from_number).otherwise(from_bytes)


def _prepare_variable_scale(cell: Column, of: ColumnType) -> Column:
    """(scale, digits in hexadecimal); NULL where they are not both there."""
    del of
    parts = F.from_json(cell, "scale STRING, value STRING", STRICT)
    return F.when(cell.rlike(r'"value"\s*:\s*"'), once(parts, _scale_and_digits))


def _scale_and_digits(parts: Column) -> Column:
    scale = _when_matched(spelling.INTEGER, parts["scale"], parts["scale"].try_cast("int"))
    digits = F.when(_is_base64(parts["value"]), F.hex(F.unbase64(parts["value"])))
    return F.when(
        scale.between(-MAX_SCALE, MAX_SCALE) & (F.length(digits) > 0),
        F.struct(scale.alias("scale"), digits.alias("digits")),
    )


def _variable_scale(prepared: Column, of: ColumnType) -> Column:
    """Exact text without the zeros that end a fraction: equal numbers have one text, as keys."""
    del of
    written = decimals.written(prepared["digits"], prepared["scale"])
    return F.regexp_replace(written, r"(\.[0-9]*[1-9])0+\z|\.0+\z", "$1")


def _prepare_bits(cell: Column, of: ColumnType) -> Column:
    """Zeros and ones of the little-endian bytes, the highest first."""
    del of
    # Digits of a byte change places, then the whole is turned round: the bytes are.
    turned = F.reverse(F.regexp_replace(F.hex(F.unbase64(cell)), "(.)(.)", "$2$1"))
    fours = F.transform(F.split(turned, ""), lambda digit: F.lpad(F.conv(digit, 16, 2), 4, "0"))
    return F.when(_is_base64(cell), F.array_join(fours, ""))


def _bits(prepared: Column, of: ColumnType) -> Column:
    if not of.precision:
        return prepared
    significant = F.ltrim(prepared, F.lit("0"))
    padded = F.lpad(significant, of.precision, "0")
    return F.when(F.length(significant) <= of.precision, padded)


# ---------------------------------------------------------------- times


def _days(days: Column, of: ColumnType) -> Column:
    return F.when(days.between(*HELD[of.wire]), F.date_from_unix_date(days))


def _duration(count: Column, of: ColumnType) -> Column:
    return F.when(count.between(*HELD[of.wire]), count)


def _ticks(multiply: int, divide: int = 1) -> Callable[[Column, ColumnType], Column]:
    def decoder(ticks: Column, of: ColumnType) -> Column:
        if divide > 1:
            below = F.when(ticks % divide < 0, 1).otherwise(0)
            micros = F.call_function("div", ticks, F.lit(divide)) - below
        else:
            micros = F.try_multiply(ticks, F.lit(multiply)) if multiply > 1 else ticks
        if of.kind is Kind.TIME:
            return micros
        # The session's time zone is UTC.
        moment = F.timestamp_micros(micros).cast(of.spark)
        return F.when(ticks.between(*HELD[of.wire]), moment)

    return decoder


def _iso(cell: Column, of: ColumnType) -> Column:
    """A date or time as text; NULL for a year outside 1..9999 and for what no calendar has."""
    held = f"{spelling.HELD_YEAR}(?:{_ISO[of.kind]})"
    if of.kind is Kind.DATE:
        return _when_matched(held, cell, F.left(cell, F.lit(10)).try_cast("date"))
    moment = cell.try_cast(of.spark)
    if of.kind is Kind.INSTANT:  # its offset may take it out of the last year
        first, last = (F.timestamp_micros(F.lit(limit)) for limit in (MIN_MICROS, MAX_MICROS))
        moment = F.when(moment.between(first, last), moment)
    return _when_matched(held, cell, moment)


def _prepare_structured(cell: Column, of: ColumnType) -> Column:
    fields = structured.PERIOD if of.wire is Wire.STRUCTURED_DURATION else structured.TEMPORAL
    document = F.from_json(cell, fields, STRICT)
    return once(document, lambda parts: structured.written(parts, of))


def _structured(prepared: Column, of: ColumnType) -> Column:
    return _iso(prepared, of) if of.kind in _TEMPORAL else prepared


# ---------------------------------------------------------------- documents


def _prepare_json(cell: Column, of: ColumnType) -> Column:
    """An array, map or struct."""
    del of
    return F.when(cell.startswith("{") | cell.startswith("["), cell)


_Step = Callable[[Column, ColumnType], Column]

_PREPARE: Mapping[Wire, _Step] = {
    Wire.UNSIGNED: _prepare_unsigned,
    Wire.BASE64: _prepare_base64,
    Wire.VARIABLE_SCALE: _prepare_variable_scale,
    Wire.BITS: _prepare_bits,
    Wire.STRUCTURED: _prepare_structured,
    Wire.STRUCTURED_OFFSET_TIME: _prepare_structured,
    Wire.STRUCTURED_DURATION: _prepare_structured,
    Wire.JSON: _prepare_json,
}

_FINISH: Mapping[Wire, _Step] = {
    Wire.PLAIN: _plain,
    Wire.UNSIGNED: _unsigned,
    Wire.BASE64: _base64,
    Wire.VARIABLE_SCALE: _variable_scale,
    Wire.BITS: _bits,
    Wire.DAYS: _days,
    Wire.MILLIS: _ticks(1000),
    Wire.MICROS: _ticks(1),
    Wire.NANOS: _ticks(1, 1000),
    Wire.DURATION: _duration,
    Wire.ISO: _iso,
    Wire.STRUCTURED: _structured,
    Wire.STRUCTURED_OFFSET_TIME: _structured,
    Wire.STRUCTURED_DURATION: _structured,
    Wire.JSON: _as_it_is,
    Wire.JSON_TEXT: _as_it_is,
}
