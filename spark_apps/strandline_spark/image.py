"""Images as they tell rows apart, in columns; the twin of `strandline.image`.

Cells are only ever asked whether they are equal, so that an image holds a number for each. It is an
array, for unlike a map one can be sorted, along with the steps of a walk.
"""

import re
from collections.abc import Collection, Mapping, Sequence

from pyspark.sql import Column
from pyspark.sql import functions as F

from strandline.image import FALLBACK, SHAPES

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


def nothing() -> Column:
    """No image."""
    return F.lit(None).cast(IMAGE)


def cells(
    image: Column, names: Sequence[str], placeholders: Sequence[str], absent: Column | None
) -> Column:
    """The cells of an image that were sent, by column; NULL where there is no image.

    `absent` are the columns that the record's schema does not have, None where each has all.
    """
    sent = F.array(*(image.getField(name) for name in names)).cast("array<string>")
    known = F.array(*(F.lit(name) for name in names)).cast("array<string>")
    named = F.map_from_arrays(known, sent)
    left_out = F.lit(False)
    held = F.map_filter(named, lambda _, cell: ~F.coalesce(cell.isin(*placeholders), left_out))
    if absent is not None:
        held = F.map_filter(held, lambda name, _: ~F.array_contains(absent, name))
    return F.when(image.isNotNull(), held)


def compared(held: Column) -> Column:
    """The image that cells make."""
    return F.map_entries(F.transform_values(held, lambda _, cell: F.xxhash64(cell)))


def told(held: Column, defaults: Column | None, texts: Collection[str]) -> Column:
    """Of the cells of an image those that say what the row was, NULL where none does.

    `texts` are the columns of texts; `defaults` the columns' defaults by their names, None where
    there are none.
    """

    def says(name: Column, cell: Column) -> Column:
        made_up = F.when(F.length(cell) <= _LONGEST, cell.rlike(_DOCUMENT)).otherwise(F.lit(False))
        value = cell.isNotNull() & ~cell.rlike(_STANDS_IN) & ~(made_up & ~name.isin(*texts))
        if defaults is None:
            return value
        default = F.try_element_at(defaults, name)
        return value & ~F.coalesce(cell == default, F.lit(False))

    saying = F.map_filter(held, says)
    return F.when(F.size(saying) > 0, saying)


def literal(values: Mapping[str, str]) -> Column:
    """Texts by name."""
    return F.create_map(*(F.lit(part) for pair in values.items() for part in pair))


def alike(one: Column, other: Column) -> Column:
    """True where no column that both hold tells them apart; NULL where there is no image."""

    def differs(cell: Column) -> Column:
        return F.exists(other, lambda o: (o["key"] == cell["key"]) & (o["value"] != cell["value"]))

    return ~F.exists(one, differs)


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
