"""Records without schema, told apart by the definition that their table had when they were written.

The source's DDL is metadata, read on the driver: a few definitions per table. What a record names
as its table and its place in the log says which of them was in force; each of them then stands as
an embedded schema would, under a `schema_id` of its own.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import reduce

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from strandline.changes.rules import TableRules
from strandline.formats import flattened
from strandline.formats.schema_history import Definition, SchemaHistory
from strandline_spark import documents
from strandline_spark.changes import quoted
from strandline_spark.connectors import Connector
from strandline_spark.documents import SchemaPair
from strandline_spark.meta import epoch

_COMMON = ("snapshot", "db", "schema", "table")
_TABLE = _COMMON[1:]


_NAMELESS, _GONE = "", "\x00"  # in place of a scope: of records that name none, of tombstones


@dataclass(frozen=True, slots=True)
class Defined:
    """Parsed records with their schemas; `definitions` stand for those that were not embedded."""

    records: DataFrame
    schemas: Mapping[int, SchemaPair]
    definitions: Mapping[int, Definition]


@dataclass(frozen=True, slots=True)
class Apart:
    """What tells the records of one topic apart.

    `scope` asks for a table that the topic's records named in earlier runs.
    """

    connector: Connector
    rules: TableRules
    history: SchemaHistory
    topic: str
    scope: Callable[[], str | None]

    def told(self, records: DataFrame, schemas: Mapping[int, SchemaPair]) -> Defined:
        """Gives the records their definitions, where the schema history has any."""
        bare = [number for number, pair in schemas.items() if pair.bare and pair.value is None]
        if not self.history or not bare:
            return Defined(records, schemas, {})
        named = records.withColumn("_source", self._source(schemas)).where(_is_one_of(bare))
        scopes = named.select(self._scope(F.col("_source")).alias("scope")).distinct()
        found = self._found([row["scope"] for row in scopes.collect()])
        first, *others = found.values()
        if len(first) < 2 and all(each == first for each in others):
            return Defined(records, schemas, dict.fromkeys(bare, first[0]) if first else {})
        return self._by_definition(records, schemas, bare, found)

    def _scope(self, source: Column) -> Column:
        gone = F.col("value").isNull() | (F.trim("value_payload") == "null")
        named = F.coalesce(self.connector.scope(source), F.lit(_NAMELESS))
        return F.when(gone, F.lit(_GONE)).otherwise(named)

    def _found(self, scopes: Sequence[str]) -> dict[str, Sequence[Definition]]:
        """The definitions of each table that the records name."""
        found = {}
        named = set(scopes) - {_NAMELESS, _GONE}
        for scope in sorted(scopes):
            if scope == _GONE:
                found[scope] = self._of_tombstones(named)
            else:
                found[scope] = self.history.of(self.topic, scope or None)
        return found

    def _of_tombstones(self, named: set[str]) -> Sequence[Definition]:
        earlier = None if named else self.scope()
        scopes = named if earlier is None else {earlier}
        return self.history.of_tombstones(self.topic, scopes)[-1:]

    def _by_definition(
        self,
        records: DataFrame,
        schemas: Mapping[int, SchemaPair],
        bare: Sequence[int],
        found: Mapping[str, Sequence[Definition]],
    ) -> Defined:
        source, number = F.col("_source"), F.col("_definition")
        numbered = records.withColumn("_source", self._source(schemas)).withColumn(
            "_definition", F.when(_is_one_of(bare), self._number(source, schemas, found))
        )
        apart = F.xxhash64("schema_id", number)
        numbered = numbered.withColumns(
            {
                "_schema": F.col("schema_id"),
                "schema_id": F.when(number.isNotNull(), apart).otherwise(F.col("schema_id")),
            }
        ).drop("_source")
        every = [each for definitions in found.values() for each in definitions]
        split, definitions = {}, {}
        for row in sorted(_kinds(numbered).collect(), key=lambda row: row["first"]):
            pair = schemas[row["_schema"]]
            if row["_definition"] is not None:
                names = frozenset(name for names in row["row_names"] for name in names)
                pair = replace(pair, row_names=names)
                definitions[row["schema_id"]] = every[row["_definition"]]
            split[row["schema_id"]] = pair
        rest = numbered.drop("_schema", "_definition")
        return Defined(rest, split, definitions)

    def _source(self, schemas: Mapping[int, SchemaPair]) -> Column:
        """The fields of `source` that say whose a record is, and where in the log it stands.

        A flattened row has no place there, even where it names one: the offset orders it.
        """
        names = list(dict.fromkeys((*_COMMON, *self.connector.fields)))
        fields = ", ".join(f"{quoted(name)}: STRING" for name in names)
        payload = F.col("value_payload")
        sent = documents.legible(documents.read(payload, f"source STRUCT<{fields}>"))["source"]
        flat = [number for number, pair in schemas.items() if pair.flat]
        if not flat:
            return sent
        of_row = [prefix + n for n in _TABLE for prefix in (flattened.SOURCE, flattened.PREFIX)]
        row = documents.legible(
            documents.read(payload, ", ".join(f"{quoted(name)}: STRING" for name in of_row))
        )
        nothing = F.lit(None).cast("string")
        told = {n: F.coalesce(row[flattened.SOURCE + n], row[flattened.PREFIX + n]) for n in _TABLE}
        of_flat = F.struct(*(told.get(name, nothing).alias(name) for name in names))
        return F.when(_is_one_of(flat), of_flat).otherwise(sent)

    def _number(
        self,
        source: Column,
        schemas: Mapping[int, SchemaPair],
        found: Mapping[str, Sequence[Definition]],
    ) -> Column:
        """Which of all the definitions reads a record; NULL where its table has none."""
        place = self._place(source, schemas)
        scope = self._scope(source)
        cases, before = F.lit(None).cast("int"), 0
        for name, definitions in found.items():
            if definitions:
                later = [(place > F.lit(each.since)).cast("int") for each in definitions[1:]]
                ahead = reduce(Column.__add__, later, F.lit(0))
                last = len(definitions) - 1
                number = F.lit(before) + F.coalesce(ahead, F.lit(last))
                cases = F.when(scope == name, number).otherwise(cases)
            before += len(definitions)
        return cases

    def _place(self, source: Column, schemas: Mapping[int, SchemaPair]) -> Column:
        """The twin of `strandline.schema_history.place`."""
        read = ~F.coalesce(source["snapshot"], F.lit("false")).isin("false", "null")
        place = F.concat(
            epoch(self.rules), self.connector.major(source), F.when(read, "1").otherwise("0")
        )
        flat = [number for number, pair in schemas.items() if pair.flat]
        return F.when(~_is_one_of(flat), place) if flat else place


def _is_one_of(numbers: Sequence[int]) -> Column:
    return F.col("schema_id").isin(*numbers)


def _kinds(numbered: DataFrame) -> DataFrame:
    """What there is of records, its `first` one, and the fields that those without schema have."""
    return numbered.groupBy("schema_id", "_schema", "_definition").agg(
        F.collect_set(documents.row_names()).alias("row_names"),
        F.min(F.struct("partition", "offset")).alias("first"),
    )
