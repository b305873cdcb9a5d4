"""Keys in columns: their cells, and the canonical text under which a row is known."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from pyspark.sql import Column
from pyspark.sql import functions as F

from strandline.cells import inference
from strandline.cells.spelling import INTEGER, quote
from strandline.cells.types import TEXT, ColumnType
from strandline.changes.rules import TableRules
from strandline.law.decode.general import ROUTED
from strandline_spark import documents, values
from strandline_spark.cells import unwrapped
from strandline_spark.changes import quoted
from strandline_spark.connectors import Connector
from strandline_spark.shallow import any_of, once
from strandline_spark.shape import Shape

_IMAGES = ("before", "after")


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
        return documents.read(payload, self._fields)

    @property
    def _fields(self) -> str:
        return ", ".join(f"{quoted(name)}: STRING" for name in self.names)

    def cells(self, read: Column, payload: Column) -> Column:
        """The cells of a key as text; NULL where it is no document.

        `read` is what `read` made of the payload.
        """
        cells = self._plain(documents.legible(read))
        lossy = values.may_lose(payload, self._told_by_digits())
        if not self.names or lossy is None:
            return cells
        # What is marked may be legible where the document is not.
        marked = documents.legible(documents.read(values.marked(payload), self._fields))
        exact = once(self._plain(marked), self._as_sent)
        return F.when(F.coalesce(lossy, F.lit(False)) & cells.isNotNull(), exact).otherwise(cells)

    def _plain(self, cells: Column) -> Column:
        """The cells without what they are wrapped in."""
        if not self.names or self.connector.is_wrapped(F.lit("")) is None:
            return cells
        plain = _struct({name: self._value(cells.getField(name)) for name in self.names})
        return F.when(cells.isNotNull(), plain)

    def _as_sent(self, marked: Column) -> Column:
        """The cells of a marked key, digit by digit; those of bytes keep their marks."""
        typed = self.shape.keys.items()
        return _struct({
            name: values.as_sent(
                marked.getField(name), {n: types[name] for n, types in typed if name in types}
            )
            for name in self.names
        })  # fmt: skip

    def _told_by_digits(self) -> Iterator[ColumnType | None]:
        """The types of key columns, but for texts that a schema warrants to be strings."""
        for number, types in self.shape.keys.items():
            warranted = number in self.shape.described_keys
            for of in types.values():
                if not (warranted and of is not None and values.is_plain_text(of)):
                    yield of

    def other(self, read: Column, payload: Column) -> Column:
        """The cells of the key that a header names, in the table that a router gave the record."""
        cells = self.cells(read, payload)
        if ROUTED not in self.names:
            return cells
        own = F.col("k").getField(ROUTED)
        return cells.withField(quoted(ROUTED), F.coalesce(cells.getField(ROUTED), own))

    def of_record(self) -> Column:
        """The canonical key of the record, else of the row's key columns."""
        own = self.canonical("k", "key_payload")
        if not self.rules.key:
            return own
        deleted = F.col("_op") == "d"
        of_row = F.when(deleted, self._of_row("before")).otherwise(self._of_row("after"))
        return F.when(F.col("key").isNull(), of_row).otherwise(own)

    def rekeyed(self) -> Column:
        """Whether an update gives a row another key, in records that have none to tell it with."""
        if not self.rules.key:
            return F.lit(False)
        unkeyed = F.col("key").isNull() & (F.col("_op") == "u")
        return F.coalesce(unkeyed & (self._of_row("before") != F.col("_key")), F.lit(False))

    def of_rows(self, *, flat: bool) -> dict[str, Column]:
        """The key columns of both images as they were sent, where records may have no key."""
        if not self.rules.key:
            return {}
        return {_named(image): self._row_cells(image, flat=flat) for image in _IMAGES}

    def _row_cells(self, image: str, *, flat: bool) -> Column:
        columns = {name: self.shape.columns[name] for name in self._row_names}
        cells = {name: self._value(F.col(f"v.{image}").getField(name)) for name in columns}
        lossy = {
            name: (cells[name], types)
            for name, types in columns.items()
            if any(map(values.is_lossy, types.values()))
        }
        exact = values.respelled(
            F.col("value_payload"),
            None if flat else image,
            lossy,
            lambda _, cell: self._value(cell),
        )
        if exact is None:
            return _struct(cells)
        return once(exact, lambda found: _struct({
            name: F.coalesce(found.getField(name), cell) if name in lossy else cell
            for name, cell in cells.items()
        }))  # fmt: skip

    def _value(self, cell: Column) -> Column:
        return unwrapped(self.connector, cell)

    @property
    def _row_names(self) -> list[str]:
        return [name for name in self.rules.key if name in self.shape.columns]

    def _of_row(self, image: str) -> Column:
        """The canonical key of the row's key columns; NULL where one has no value."""
        cases = F.lit(None).cast("string")
        for number in {n for of in self.shape.columns.values() for n in of}:
            declared = {name: self.shape.columns[name].get(number) for name in self._row_names}
            types = {name: of for name, of in declared.items() if of}
            if len(types) == len(self.rules.key):
                cells = F.col(quoted(_named(image)))
                text = _document({n: _spelt(cells.getField(n), of) for n, of in types.items()})
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


def _struct(cells: Mapping[str, Column]) -> Column:
    named = [cell.alias(name) for name, cell in cells.items()]
    return F.struct(*named) if named else F.lit("")


def _named(image: str) -> str:
    """A name for an image's key columns that no field of a landed record has."""
    return f"key:{image}"


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
