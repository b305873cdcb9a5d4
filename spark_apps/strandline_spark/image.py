"""Images as they tell rows apart, in columns; the twin of `strandline.changes.image`.

Cells are only ever asked whether they are equal, so that an image holds a number for each, of 32
bits: these numbers are no text that would compress, and with 64 they were two fifths of the bytes
of the changes. It is an array, for unlike a map one can be sorted, along with the steps of a walk.
"""

import re
from collections.abc import Collection, Mapping

from pyspark.sql import Column
from pyspark.sql import functions as F

from strandline.changes.image import FALLBACK, SHAPES

IMAGE = "array<struct<key: string, value: bigint>>"

_STANDS_IN = rf"^(?:{FALLBACK.pattern}|)\z"
# What is false in JSON, and structs as JsonConverter writes them: a shape, a line, and those of
# which each cell stands in. As text they would be values of a column of texts.
_FALSE = rf'null|false|-?0(?:\.0+)?|\[\]|"(?:{FALLBACK.pattern}|)"'
_SHAPE = rf'\{{[^{{}}]*"wkb":"(?:{"|".join(map(re.escape, SHAPES))})"[^{{}}]*(?:\{{[^{{}}]*\}})?\}}'
_LINE = r'\{"a":0(?:\.0+)?,"b":1(?:\.0+)?,"c":0(?:\.0+)?\}'
_CELL = rf'"[^"]*":(?:{_FALSE}|{_SHAPE}|{_LINE})'
_STRUCT = rf"\{{{_CELL}(?:,{_CELL})*\}}"
_DOCUMENT = rf"^(?:{_FALSE}|{_SHAPE}|{_LINE}|{_STRUCT})\z"
_LONGEST = 1_000  # characters: nothing that stands in is longer
_BITS = (1 << 32) - 1  # of a number; releases before 2026-11-26 wrote twice as many


# By column the text of a cell, and whether the image holds it (never NULL).
Cells = Mapping[str, tuple[Column, Column]]


def nothing() -> Column:
    """No image."""
    return F.lit(None).cast(IMAGE)


def compared(cells: Cells) -> Column:
    """The image that those cells make which are held.

    Written out cell by cell: Spark interprets functions that take functions, at many times the
    cost of the code that it generates.
    """
    held = [_held(name, _number(text), is_held) for name, (text, is_held) in cells.items()]
    return F.flatten(F.array(*held)) if held else _empty()


def certain(cells: Cells, defaults: Mapping[str, Column], texts: Collection[str]) -> Column:
    """Of an image's cells those that say what the row was, NULL where none does.

    `texts` are the columns of texts; `defaults` what a cell holds that its column's default fills.
    """
    says = {}
    for name, (text, is_held) in cells.items():
        value = is_held & text.isNotNull() & ~text.rlike(_STANDS_IN)
        if name not in texts:
            value &= ~F.when(F.length(text) <= _LONGEST, text.rlike(_DOCUMENT)).otherwise(False)
        if name in defaults:
            value &= ~F.coalesce(text == defaults[name], F.lit(False))
        says[name] = (text, value)
    found = compared(says)
    return F.when(F.size(found) > 0, found)


def _number(text: Column) -> Column:
    return F.xxhash64(text).bitwiseAND(F.lit(_BITS))


def _held(name: str, value: Column, is_held: Column) -> Column:
    cell = F.struct(F.lit(name).alias("key"), value.alias("value"))
    return F.when(is_held, F.array(cell)).otherwise(_empty())


def _empty() -> Column:
    return F.array().cast(IMAGE)


def alike(one: Column, other: Column) -> Column:
    """True where no column that both hold tells them apart; NULL where there is no image."""

    def differs(cell: Column) -> Column:
        return F.exists(other, lambda o: (o["key"] == cell["key"]) & ~_equal(o, cell))

    return ~F.exists(one, differs)


def _equal(one: Column, other: Column) -> Column:
    return one["value"].bitwiseXOR(other["value"]).bitwiseAND(F.lit(_BITS)) == 0


def without(rows: Column, place: Column) -> Column:
    """The array without what stands at a place, from 1."""
    return F.concat(
        F.slice(rows, F.lit(1), F.greatest(place - 1, F.lit(0))),
        F.slice(rows, place + 1, F.size(rows)),
    )


def place_of(image: Column, images: Column) -> Column:
    """The place of the first of the images that is like this one, from 1; 0 where none is."""
    found = F.array_position(F.transform(images, lambda each: alike(each, image)), F.lit(True))
    return F.coalesce(found, F.lit(0)).cast("int")
