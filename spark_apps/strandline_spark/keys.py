"""Keys in columns: their cells, and the canonical text under which a row is known."""

from collections.abc import Mapping
from dataclasses import dataclass

from pyspark.sql import Column
from pyspark.sql import functions as F

from strandline import inference
from strandline.interpreter.decode import ROUTED
from strandline.rules import TableRules
from strandline.spelling import INTEGER, quote
from strandline.types import TEXT, ColumnType
from strandline_spark import documents, values
from strandline_spark.cells import unwrapped
from strandline_spark.changes import quoted
from strandline_spark.connectors import Connector
from strandline_spark.shallow import any_of
from strandline_spark.shape import Shape


@dataclass(frozen=True, slots=True)
class Keys:
    """The keys of one batch of one table."""

    shape: Shape
    connector: Connector
    rules: TableRules

    @property
    def names(self) -> list[str]:
        """The columns that any of the records has in its key."""
        return list(dict.fromkeys(name for of in self.shape.keys.values() for name in of))

    def read(self, payload: Column) -> Column:
        """A key as a document, for `cells` to take."""
        fields = ", ".join(f"{quoted(name)}: STRING" for name in self.names)
        return documents.read(payload, fields)

    def cells(self, read: Column) -> Column:
        """The cells of a key as text; NULL where it is no document."""
        cells = documents.legible(read)
        if not self.names or self.connector.is_wrapped(F.lit("")) is None:
            return cells
        plain = (unwrapped(self.connector, cells.getField(n)).alias(n) for n in self.names)
        return F.when(cells.isNotNull(), F.struct(*plain))

    def other(self, read: Column) -> Column:
        """The cells of the key that a header names, in the table that a router gave the record."""
        cells = self.cells(read)
        if ROUTED not in self.names:
            return cells
        own = F.col("k").getField(ROUTED)
        return cells.withField(quoted(ROUTED), F.coalesce(cells.getField(ROUTED), own))

    def of_record(self) -> Column:
        """The canonical key of the record, else of the row's key columns."""
        own = self.canonical("k", "key_payload")
        if not self.rules.key:
            return own
        image = F.when(F.col("_op") == "d", F.col("v.before")).otherwise(F.col("v.after"))
        return F.when(F.col("key").isNull(), self._of_row(image)).otherwise(own)

    def rekeyed(self) -> Column:
        """Whether an update gives a row another key, in records that have none to tell it with."""
        if not self.rules.key:
            return F.lit(False)
        unkeyed = F.col("key").isNull() & (F.col("_op") == "u")
        old = self._of_row(F.col("v.before"))
        return F.coalesce(unkeyed & (old != F.col("_key")), F.lit(False))

    def _of_row(self, image: Column) -> Column:
        """The canonical key of the row's key columns; NULL where one has no value."""
        cases = F.lit(None).cast("string")
        for number in {n for of in self.shape.columns.values() for n in of}:
            types = {name: self.shape.columns[name].get(number) for name in self.rules.key
                     if name in self.shape.columns}  # fmt: skip
            if len(types) == len(self.rules.key) and all(types.values()):
                cells = {name: unwrapped(self.connector, image.getField(name)) for name in types}
                text = _document({name: _spelt(cells[name], of) for name, of in types.items()})
                cases = F.when(F.col("schema_id") == number, text).otherwise(cases)
        return cases

    def canonical(self, column: str, payload: str) -> Column:
        """The key's text, by the types of its own schema; NULL where a part is unfit.

        `column` holds the cells of the document that `payload` is.
        """
        cells = F.col(column)
        cases = F.lit(None).cast("string")
        for number, types in self.shape.keys.items():
            if types:
                text = _document(self._parts(cells, types, F.col(payload)))
                cases = F.when(F.col("schema_id") == number, text).otherwise(cases)
        return cases

    def _parts(
        self, cells: Column, types: Mapping[str, ColumnType | None], payload: Column
    ) -> dict[str, Column]:
        """The cells as they stand in a key; NULL where one is null or no value of its type."""
        free = ", ".join(f"{quoted(name)}: VARIANT" for name, of in types.items() if of is None)
        sent = F.from_json(payload, f"STRUCT<{free}>") if free else payload
        return {
            name: _spelt(cells.getField(name), of)
            if of is not None
            else _in_own_form(cells.getField(name), self._json_type(sent.getField(name)))
            for name, of in types.items()
        }

    def _json_type(self, value: Column) -> Column:
        """What a variant holds, in Spark's words; of a wrapped cell what is in it."""
        wrapped = self.connector.is_wrapped(F.to_json(value))
        if wrapped is None:
            return F.schema_of_variant(value)
        inner = F.try_variant_get(value, "$.value", "variant")
        return F.schema_of_variant(F.when(wrapped, inner).otherwise(value))

    def lacks(self, column: str) -> Column:
        """Whether the key says nothing of one of its columns, or has none."""
        cells = F.col(column)
        gone = F.lit(False)
        for number, types in self.shape.keys.items():
            empty = [cells.getField(name).isNull() for name in types] or [F.lit(True)]
            gone |= (F.col("schema_id") == number) & any_of(empty)
        return gone & cells.isNotNull()


def digest(key: str) -> Column:
    """What stands for a canonical key where the key itself must not."""
    return F.sha2(F.encode(F.col(key), "UTF-8"), 256)


def document(cells: Mapping[str, tuple[Column, ColumnType]]) -> Column:
    """The canonical key of typed cells; NULL where one of them is."""
    return _document({name: values.json(cell, of) for name, (cell, of) in cells.items()})


def _document(spelt: Mapping[str, Column]) -> Column:
    """The canonical key of parts as they stand in it; NULL where one of them is."""
    fields = (
        part
        for number, (name, text) in enumerate(spelt.items())
        for part in (F.lit(f"{',' if number else '{'}{quote(name)}:"), text)
    )
    return F.concat(*fields, F.lit("}"))


def _spelt(cell: Column, of: ColumnType) -> Column:
    """A cell's text in a key; NULL where it is null or no value of its type."""
    typed = values.decode(cell, of)
    return F.when(typed.isNotNull(), values.json(typed, of))


def _in_own_form(cell: Column, json_type: Column) -> Column:
    """The same of a cell that nobody declared: by its own JSON type."""
    return (
        F.when(json_type == "STRING", _spelt(cell, TEXT))
        .when(json_type == "BOOLEAN", _spelt(cell, inference.BOOLEAN))
        .when(json_type.rlike("^(OBJECT|ARRAY)"), _spelt(cell, inference.NESTED))
        .when(cell.rlike(rf"\A{INTEGER}\z"), _spelt(cell, inference.LONG_INTEGER))
        .otherwise(_spelt(cell, inference.FRACTION))
    )
