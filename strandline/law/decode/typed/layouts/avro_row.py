"""Rows in Avro: a function for each schema, made once, that reads the cells of a row.

Avro's library takes longer for a record than the fold. So a record's fields are read one after the
other by a function without a loop, which is written down here as Python and compiled, like those of
dataclasses. Its text has nothing of the schema in it but what kinds of fields follow each other.
"""

import re
import struct
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple, cast

from strandline.cells.types import ColumnType, Kind, Wire
from strandline.formats.registry import avro_schema
from strandline.law.decode.typed.refusal import UnclearError

# Where a row begins in the bytes of a value; its cells, as JSON would have them, and where it ends.
Row = Callable[[bytes, int], tuple[tuple[Any, ...], int]]

BITS: Mapping[Kind, int] = {Kind.INT16: 16, Kind.INT32: 32, Kind.INT64: 64}
VARINT = re.compile(rb"[\x80-\xff]{0,8}+[\x00-\x7f]")  # of 63 bits: others are hardly written
TRUNCATED = (IndexError, struct.error)  # what a value that ends too early raises

# A number that goes on for longer than any may is refused where that shows: to read a megabyte of
# it would take minutes.
_LINES = {
    "number": """
n = v[p]; p += 1
if n > 127:
    n &= 127; s = 7
    while (b := v[p]) > 127 and s < 63:
        n |= (b & 127) << s; s += 7; p += 1
    n |= b << s; p += 1
    if s > 56 or n >> {bits}: raise Unclear
{cell} = n >> 1 ^ -(n & 1)""",
    "boolean": """
b = v[p]; p += 1
if b > 1: raise Unclear
{cell} = b == 1""",
    "bytes": """
n = v[p]; p += 1
if n > 127:
    n &= 127; s = 7
    while (b := v[p]) > 127 and s < 35:
        n |= (b & 127) << s; s += 7; p += 1
    n |= b << s; p += 1
    if s > 28: raise Unclear
if n & 1: raise Unclear
e = p + (n >> 1)
if e > len(v): raise Unclear
{cell} = v[p:e]; p = e""",
    "fixed": """
e = p + {size}
if e > len(v): raise Unclear
{cell} = v[p:e]; p = e""",
    "float": "\n{cell}, = float32(v, p); p += 4",
    "double": """
{cell}, = float64(v, p); p += 8
if {cell} != {cell}: raise Unclear""",  # not a number: of that there is one in a process
}
_LINES["string"] = _LINES["bytes"].replace("v[p:e]", "v[p:e].decode()")
_LINES["int"] = _LINES["long"] = _LINES["number"]
_NULLABLE = """
b = v[p]; p += 1
if b == {null}: {cell} = None
elif b == {other}:{lines}
else: raise Unclear"""


class Field(NamedTuple):
    """A field's type: its kind, which branch of a union is null, if one is, and the rest of it."""

    kind: str
    null: int | None
    avro: Any


def number(varint: bytes) -> int:
    """The number that these bytes are, one and all."""
    found = 0
    for byte in reversed(varint):
        found = found << 7 | byte & 127
    return found >> 1 ^ -(found & 1)


def field_of(avro: Any, named: Mapping[str, Any]) -> Field:
    """What a type of the parsed schema is; `UnclearError` where it is a union of several."""
    null: int | None = None
    while not isinstance(avro, str) or avro in named:
        if isinstance(avro, str):
            avro = named[avro]
        elif isinstance(avro, list):
            others = [n for n, each in enumerate(avro) if each != "null"]
            if null is not None or len(others) != 1 or len(avro) > 2:
                raise UnclearError
            null = 1 - others[0] if len(avro) == 2 else None
            avro = avro[others[0]]
        elif isinstance(avro["type"], str) and avro["type"] not in named:
            return Field(avro["type"], null, avro)
        else:
            avro = avro["type"]
    return Field(avro, null, {"type": avro})


def is_value(kind: str, of: ColumnType) -> bool:
    """Whether the datum of such a field is the cell's value as it is."""
    if of.assumed:
        return False
    match kind:
        case "int" | "long":
            return of.wire is Wire.PLAIN and of.kind in BITS
        case "boolean":
            return of.wire is Wire.PLAIN and of.kind is Kind.BOOLEAN
        case "string":
            return of.wire in {Wire.PLAIN, Wire.JSON_TEXT} and of.kind is Kind.TEXT
        case "double":
            return of.wire is Wire.PLAIN and of.kind is Kind.DOUBLE
    return False


def row_of(fields: Sequence[Any], types: Sequence[ColumnType], named: Mapping[str, Any]) -> Row:
    """The function that reads the fields of a record; `UnclearError` where some are nested."""
    globals_: dict[str, Any] = {
        "Unclear": UnclearError,
        "float32": struct.Struct("<f").unpack_from,
        "float64": struct.Struct("<d").unpack_from,
    }
    body = "".join(
        _lines(f"c{n}", field_of(field["type"], named), of, globals_)
        for n, (field, of) in enumerate(zip(fields, types, strict=True))
    )
    cells = "".join(f"c{n}, " for n in range(len(fields)))
    text = f"def row(v, p):{_indented(body)}\n    return ({cells}), p"
    exec(compile(text, "<row of an Avro schema>", "exec"), globals_)  # noqa: S102 - see the module
    return cast("Row", globals_["row"])


def _lines(cell: str, field: Field, of: ColumnType, globals_: dict[str, Any]) -> str:
    if field.kind not in _LINES:
        raise UnclearError
    whole = is_value(field.kind, of)
    bits = BITS[of.kind] if whole and of.kind in BITS else 64
    lines = _LINES[field.kind].format(cell=cell, bits=bits, size=int(field.avro.get("size", 0)))
    convert = None if whole else avro_schema.meaning(field.avro, {}).convert
    if convert is not None:
        globals_[f"{cell}_of"] = convert
        lines += f"\n{cell} = {cell}_of({cell})"
    if field.null is None:
        return lines
    null, other = 2 * field.null, 2 - 2 * field.null
    return _NULLABLE.format(null=null, other=other, cell=cell, lines=_indented(lines))


def _indented(lines: str) -> str:
    return lines.replace("\n", "\n    ")
