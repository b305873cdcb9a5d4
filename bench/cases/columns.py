"""The business columns of a benchmark table, and the values that follow from a change's place."""

from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from bench.cases.stream import Stream

KEY = "id"
_STATUS = ("new", "paid", "packed", "shipped", "returned", "closed")
_WORDS = ("canal", "harbour", "lantern", "meadow", "orchard", "quarry", "timber")


@dataclass(frozen=True, slots=True)
class Column:
    """A column: its words in a table's contract, its Connect schema, its Arrow and SQL types."""

    name: str
    contract: str
    connect: tuple[tuple[str, object], ...]
    arrow: pa.DataType
    sql: str


COLUMNS = (
    Column(KEY, "int64", (("type", "int64"), ("optional", False)), pa.int64(), "BIGINT"),
    Column("name", "string", (("type", "string"), ("optional", True)), pa.string(), "STRING"),
    Column("status", "string", (("type", "string"), ("optional", True)), pa.string(), "STRING"),
    Column("amount", "double", (("type", "double"), ("optional", True)), pa.float64(), "DOUBLE"),
    Column("quantity", "int32", (("type", "int32"), ("optional", True)), pa.int32(), "INT"),
    Column("note", "string", (("type", "string"), ("optional", True)), pa.string(), "STRING"),
    Column("active", "boolean", (("type", "boolean"), ("optional", True)), pa.bool_(), "BOOLEAN"),
    Column("changed", "int64", (("type", "int64"), ("optional", True)), pa.int64(), "BIGINT"),
)

# What a row of the expected history has, as Strandline's histories call it.
_META = ("valid_from", "valid_to", "is_current", "closed_by")
STRANDLINES_NAMES = {column.name: column.name for column in COLUMNS} | {
    name: f"_{name}" for name in _META
}


def values(changes: Stream) -> dict[str, pa.Array]:
    """The row that each change leaves, by column; two changes of a key never leave equal rows."""
    key, number = changes.key, changes.number
    mixed = (number * 2_654_435_761 + key * 40_503) & 0x7FFF_FFFF
    note = pc.binary_join_element_wise(
        _word(mixed), _word(mixed // 7), text(mixed), _word(mixed // 49), text(number), " "
    )
    if changes.letters.any():
        more = pc.binary_repeat(_word(mixed), pa.array(changes.letters // len(_WORDS[0])))
        note = pc.binary_join_element_wise(note, more, " ")
    return {
        KEY: pa.array(key),
        "name": pc.binary_join_element_wise("customer", text(key), " "),
        "status": pa.array(_STATUS).take(pa.array(mixed % len(_STATUS))),
        "amount": pa.array(cents(changes) / 100),
        "quantity": pa.array((mixed % 1_000).astype(np.int32)),
        "note": note,
        "active": pa.array(mixed % 8 > 0),
        "changed": pa.array(changes.micros),
    }


def cents(changes: Stream) -> NDArray[np.int64]:
    """The amount in hundredths."""
    return (changes.number * 7_919 + changes.key) % 10_000_000


def text(numbers: NDArray[np.int64]) -> pa.Array:
    """Integers as their digits."""
    return pc.cast(pa.array(numbers), pa.string())


def _word(numbers: NDArray[np.int64]) -> pa.Array:
    return pa.array(_WORDS).take(pa.array(numbers % len(_WORDS)))
