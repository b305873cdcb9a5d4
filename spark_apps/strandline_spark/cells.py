"""The cells of a row in columns: as they were sent, typed, and whether they fit their types."""

from collections.abc import Container, Mapping
from dataclasses import dataclass

from pyspark.sql import Column
from pyspark.sql import functions as F

from strandline.cells import widening
from strandline.cells.placeholder import spellings
from strandline.cells.types import ColumnType, Wire
from strandline.changes.rules import TableRules
from strandline_spark import documents, values
from strandline_spark.changes import metadata, quoted
from strandline_spark.connectors import Connector
from strandline_spark.shallow import any_of, joined
from strandline_spark.shape import Shape


@dataclass(frozen=True, slots=True)
class Cells:
    """The cells of one batch of one table.

    The steps `sent`, `ready` and `typed` follow each other; each refers to the last one's columns.
    """

    shape: Shape
    connector: Connector
    rules: TableRules

    def are_wrapped(self) -> Column:
        """Whether the record's cells are objects that hold a value each."""
        return any_of(so for n in self.shape.names if (so := self._is_wrapped(n)) is not None)

    def named(self) -> dict[str, Column]:
        """The fields that rows without schema have, where a null says more than a missing one."""
        if not self.shape.bare or self.connector.is_wrapped(F.lit("")) is None:
            return {}
        partial = F.col("_wrapped") & (F.col("_op") == "u")
        return {"_named": F.when(partial, documents.row_names())}

    def exact(self, *, flat: bool) -> Column:
        """The cells whose digits `from_json` may have lost, as they were sent."""
        spelled = values.respelled(
            F.col("value_payload"), None if flat else "after", self._doubtful(), self._value
        )
        return F.lit(None).cast("string") if spelled is None else spelled

    def _doubtful(self) -> dict[str, tuple[Column, Mapping[int, ColumnType]]]:
        """Columns that a bare number may come in; texts only without a schema."""
        return {
            name: (self._value(name, F.col("v.after").getField(name)), types)
            for name, types in self.shape.columns.items()
            if self.shape.bare or not all(map(values.is_plain_text, types.values()))
        }

    def _value(self, column: str, cell: Column) -> Column:
        """What the column's cell holds, from that cell as it was sent or from its marked text."""
        wrapped = self._is_wrapped(column)
        return cell if wrapped is None else _inside(wrapped, cell)

    def _is_wrapped(self, column: str) -> Column | None:
        """Whether the column's cell is a document around its value; None: it never is."""
        cell, number = F.col("v.after").getField(column), F.col("schema_id")
        found, types = self.connector.is_wrapped(cell), self.shape.columns[column]
        if found is None:
            return None
        around = self.shape.wrapped.get(column, frozenset())
        told = self.shape.described & types.keys()
        # A text is no document, whatever it looks like; of a nested value the form has to tell.
        texts = {n for n in told - around if types[n].wire is not Wire.JSON}
        if not self.shape.bare and told == around | texts:
            found = F.lit(False)
        elif texts:
            found = ~number.isin(*sorted(texts)) & found
        if around:
            is_document = F.coalesce(cell.startswith("{"), F.lit(False))
            found = F.when(number.isin(*sorted(around)), is_document).otherwise(found)
        return found

    def sent(self, exact: Container[str]) -> dict[str, Column]:
        """The cells as the envelope has them; NULL also where they were not sent.

        `exact`: the columns that have been spelled again.
        """
        return {_sent(name): self._as_sent(name, exact) for name in self.shape.names}

    def _as_sent(self, column: str, exact: Container[str]) -> Column:
        cell = self._value(column, F.col("v.after").getField(column))
        if column in exact:
            # These digits come from the text, which may hold more than the schema describes.
            cell = F.when(cell.isNotNull(), F.coalesce(F.col("exact").getField(column), cell))
        return F.when(~self.is_unset(column), cell)

    def is_unset(self, column: str) -> Column:
        """Whether the record does not say what the cell holds."""
        cell, wrapped = F.col("v.after").getField(column), self._is_wrapped(column)
        texts = sorted(spellings(self.rules.placeholder))
        gone = F.coalesce(self._value(column, cell).isin(*texts), F.lit(False))
        if wrapped is None:
            return gone
        bare = cell.isNull() & (F.col("_op") == "u") & self._is_named(column)
        left_out = F.coalesce(F.get_json_object(cell, "$.set") == "false", F.lit(False))
        return gone | (wrapped & left_out) | (F.col("_wrapped") & bare)

    def _is_named(self, column: str) -> Column:
        """Whether the record's row has that field: a column that it does not know is NULL in it."""
        lacking = sorted(self.shape.described - self.shape.columns[column].keys())
        named = ~F.col("schema_id").isin(*lacking) if lacking else F.lit(True)
        if not self.shape.bare:
            return named
        return named & F.coalesce(F.array_contains("_named", column), F.lit(True))

    def ready(self) -> dict[str, Column]:
        """The cells after the first step of their decoders."""
        return {_ready(name): self._prepared(name, of) for name, of in self.shape.columns.items()}

    def _prepared(self, column: str, types: Mapping[int, ColumnType]) -> Column:
        """The cell after the first step of its decoder, where it has one type only."""
        sent, distinct = F.col(quoted(_sent(column))), set(types.values())
        return values.prepare(sent, distinct.pop()) if len(distinct) == 1 else sent

    def typed(self) -> dict[str, Column]:
        """The cells in the types of their columns, and which values those do not hold."""
        cells = {_typed(name): self._finished(name, of) for name, of in self.shape.columns.items()}
        unheld = {_unheld(name): self._beyond(name) for name in self.shape.names}
        return cells | {name: is_so for name, is_so in unheld.items() if is_so is not None}

    def _finished(self, column: str, types: Mapping[int, ColumnType]) -> Column:
        target = self.shape.targets[column]
        distinct = set(types.values())
        if len(distinct) == 1:
            of = distinct.pop()
            return values.widened(values.finish(F.col(quoted(_ready(column))), of), of, target)
        cases = F.lit(None).cast(target.spark)
        for number, of in types.items():
            typed = values.decode(F.col(quoted(_sent(column))), of)
            typed = values.widened(typed, of, target)
            cases = F.when(F.col("schema_id") == number, typed).otherwise(cases)
        return cases

    def _beyond(self, column: str) -> Column | None:
        """True for a genuine value that the column's type cannot hold; None: it holds all."""
        types = self.shape.columns[column]
        distinct = set(types.values())
        if len(distinct) == 1:
            return values.unheld(F.col(quoted(_ready(column))), distinct.pop())
        cases: Column | None = None
        for number, of in types.items():
            beyond = values.unheld(values.prepare(F.col(quoted(_sent(column))), of), of)
            if beyond is not None:
                here = (F.col("schema_id") == number) & F.coalesce(beyond, F.lit(False))
                cases = here if cases is None else cases | here
        return cases

    def unfit(self, names: Container[str]) -> dict[str, tuple[Column, str]]:
        """Per column whether its cell is no value of its type, and the type's name.

        `names` are the columns that there are after `typed`.
        """
        return {name: (_is_unfit(name, names), self._spark(name)) for name in self.shape.names}

    def _spark(self, name: str) -> str:
        return next(iter(self.shape.columns[name].values())).spark

    def unheld(self, name: str, names: Container[str]) -> Column | None:
        """Whether the column's type does not hold a genuine value; None where it holds all."""
        return F.col(quoted(_unheld(name))) if _unheld(name) in names else None

    def stored(self, name: str) -> Column:
        """The typed cell under its name, with what the column says of itself."""
        types = self.shape.columns[name]
        written = [of for number, of in types.items() if number in self.shape.described]
        said = metadata(self.shape.targets[name], widening.written_alike(written))
        return F.col(quoted(_typed(name))).alias(name, metadata=said)

    def content(self, of: str) -> Column:
        """A number for an image's content; a NULL column is as good as one that is not there."""
        cells = F.col(of)
        hashes = [
            F.when(cells.getField(name).isNotNull(), F.xxhash64(F.lit(name), cells.getField(name)))
            for name in self.shape.sent
        ]
        if not hashes:
            return F.lit(None).cast("bigint")
        zero = F.lit(0).cast("bigint")
        content = joined(Column.bitwiseXOR, (F.coalesce(h, zero) for h in hashes))
        return F.when(cells.isNotNull(), content)


def unwrapped(connector: Connector, cell: Column) -> Column:
    """The value inside a wrapped cell, any other cell as it is."""
    wrapped = connector.is_wrapped(cell)
    return cell if wrapped is None else _inside(wrapped, cell)


def _inside(wrapped: Column, cell: Column) -> Column:
    return F.when(wrapped, F.get_json_object(cell, "$.value")).otherwise(cell)


def _sent(column: str) -> str:
    return f"sent:{column}"


def _ready(column: str) -> str:
    return f"ready:{column}"


def _typed(column: str) -> str:
    """A name for the typed cell that no field of a landed record has."""
    return f"cell:{column}"


def _unheld(column: str) -> str:
    return f"unheld:{column}"


def _is_unfit(column: str, names: Container[str]) -> Column:
    missing = F.col(quoted(_sent(column))).isNotNull() & F.col(quoted(_typed(column))).isNull()
    if _unheld(column) not in names:
        return missing
    return missing & ~F.coalesce(F.col(quoted(_unheld(column))), F.lit(False))
