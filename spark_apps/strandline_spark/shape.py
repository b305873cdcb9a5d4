"""The shape of a batch: which columns a table has there, and of which types, by schema.

Schemas are metadata, read on the driver: embedded ones first, then the table's contract, then the
source's schema history, then what the values themselves show.
"""

from collections.abc import Collection, Container, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from strandline.cells import naming, values, widening
from strandline.cells.inference import merged
from strandline.cells.types import TEXT, ColumnType, from_connect
from strandline.changes.rules import TableRules
from strandline.connectors import Connector
from strandline.formats import connect, flattened
from strandline.formats.schema_history import Definition
from strandline.law.decode.general import ROUTED
from strandline_spark import inference
from strandline_spark.documents import (
    SchemaPair,
    carries_row,
    deleted_document,
    deleted_values,
    row_document,
    row_values,
)

Types = Mapping[str, ColumnType]


@dataclass(frozen=True, slots=True)
class Known:
    """What is known of a table besides its records.

    `stored` are the columns that its changes have already, `definitions` what the source's DDL says
    of records without schema, `written` how earlier rows with a schema wrote their columns.
    """

    rules: TableRules
    stored: Types
    definitions: Mapping[int, Definition]
    written: Types

    def declared(self, number: int, pair: SchemaPair) -> dict[str, ColumnType]:
        """The column types of records without schema, as far as somebody declared them."""
        of = self.definitions.get(number)
        return {**(of.types(pair.row_names) if of else {}), **self.rules.contract}


@dataclass(frozen=True, slots=True)
class Shape:
    """`columns` maps each business column to its type by schema, `keys` likewise each schema's key.

    `targets` are the types that the columns are stored in, `defaults` what each schema says that a
    column has where it is not given a value, as cells are spelt. `untyped` are fields of images
    that say nothing of their type, being null in each, and are no columns. `described` are the
    schemas of values, `wrapped` by column those of them that put a document around each value,
    `described_keys` the schemas of keys.
    """

    columns: Mapping[str, Mapping[int, ColumnType]]
    keys: Mapping[int, Mapping[str, ColumnType | None]]
    targets: Types
    defaults: Mapping[int, Mapping[str, str]]
    untyped: Sequence[str]
    bare: bool  # some records have no schema, so nothing warrants the form of their cells
    described: frozenset[int] = frozenset()
    described_keys: frozenset[int] = frozenset()
    wrapped: Mapping[str, frozenset[int]] = field(default_factory=dict)

    @property
    def names(self) -> list[str]:
        """The business columns in the order of their first appearance."""
        return list(self.columns)

    @property
    def sent(self) -> list[str]:
        """The fields that the images of the rows have."""
        return [*self.columns, *self.untyped]

    @property
    def lacking(self) -> dict[str, list[int]]:
        """The fields that some schemas of values do not describe, with those schemas."""
        lack = {name: self.described - self.columns.get(name, {}).keys() for name in self.sent}
        return {name: sorted(numbers) for name, numbers in lack.items() if numbers}

    @property
    def empty(self) -> list[int]:
        """The schemas of values that describe no field of a row."""
        return sorted(self.described.difference(*self.columns.values()))


def shape(
    records: DataFrame, schemas: Mapping[int, SchemaPair], connector: Connector, known: Known
) -> Shape:
    """What the batch's schemas, or else its values, say of the table.

    Raises `Terminal` where a column's types have nothing in common, or its name is taken.
    """
    rows = {number: row_types(pair, connector) for number, pair in schemas.items() if pair.value}
    described = frozenset(rows)
    keys: dict[int, Mapping[str, ColumnType | None]] = {
        number: _key_types(pair, connector) for number, pair in schemas.items() if pair.key
    }
    bare = {number: pair for number, pair in schemas.items() if pair.bare}
    embedded = {name for types in rows.values() for name in types}
    inferred: set[str] = set()
    if bare:
        declared = {n: rows.get(n) or known.declared(n, pair) for n, pair in bare.items()}
        rows_of = carries_row(connector.accepts, keyed=not known.rules.key)
        shown = _shown(records, bare, declared, rows_of)
        inferred = set(shown)
        named = next((pair.key_names for pair in bare.values() if pair.key_names), ())
        kin = {**known.written, **_kin(rows.values())}
        for number, pair in bare.items():
            told = {**shown, **declared[number]}
            if pair.key is None:
                alone = {} if pair.value or pair.row_names else kin
                # What a router adds is a text; a header that lacks it has no form to go by.
                types = {ROUTED: TEXT, **alone, **declared[number]}
                keys[number] = {name: types.get(name) for name in pair.key_names or named}
            if pair.value is None:
                rows[number] = declared[number] | {n: told[n] for n in sorted(inferred)}
    columns = _by_column(rows, inferred - embedded)
    naming.check(dict.fromkeys([*known.stored, *columns]))
    untyped = _beside(columns, sorted(_sent(bare.values()) - columns.keys()))
    texts = known.rules.texts.difference(*keys.values())
    targets = {name: _target(name, types, known, texts) for name, types in columns.items()}
    defaults = {number: _defaults(pair) for number, pair in schemas.items() if pair.value}
    return Shape(
        columns,
        keys,
        targets,
        {number: named for number, named in defaults.items() if named},
        untyped,
        any(pair.value is None for pair in bare.values()),
        described,
        frozenset(number for number, pair in schemas.items() if pair.key),
        _wrapped(schemas, connector),
    )


def _kin(rows: Iterable[Types]) -> dict[str, ColumnType]:
    """What rows with a schema say of the keys of tombstones, which have none."""
    declared: dict[str, dict[ColumnType, None]] = {}
    for types in rows:
        for name, of in types.items():
            declared.setdefault(name, {})[of] = None
    alike = {name: widening.written_alike(of) for name, of in declared.items()}
    return {name: of for name, of in alike.items() if of is not None}


def _sent(pairs: Iterable[SchemaPair]) -> set[str]:
    """The columns that records without schema name; not a flattened row's metadata."""
    names = {name for pair in pairs for name in pair.row_names}
    return {name for name in names if not name.startswith(flattened.PREFIX)}


def _beside(columns: Collection[str], untyped: Iterable[str]) -> list[str]:
    """The untyped fields that Spark can read beside the columns.

    They are no columns of the history, so that none of them stops the table; but a struct has no
    field without a name, and tells none apart by capitals.
    """
    taken = {name.lower() for name in columns} | {""}
    found = []
    for name in untyped:
        if name.lower() not in taken:
            taken.add(name.lower())
            found.append(name)
    return found


def _by_column(
    rows: Mapping[int, Types], shown: Container[str]
) -> dict[str, dict[int, ColumnType]]:
    """Declared columns as they appeared, then those that only values showed, which come by name."""
    columns: dict[str, dict[int, ColumnType]] = {}
    for number, types in rows.items():
        for name, of in types.items():
            columns.setdefault(name, {})[number] = of
    return dict(sorted(columns.items(), key=lambda column: column[0] in shown))


def _target(
    name: str, types: Mapping[int, ColumnType], known: Known, texts: Container[str]
) -> ColumnType:
    of = widening.common(name, types.values(), texts)
    stored = known.stored.get(name)
    if stored is None:
        return of
    wider = widening.common(name, (stored, of))
    return replace(of, kind=wider.kind, precision=wider.precision, scale=wider.scale)


def row_types(pair: SchemaPair, connector: Connector) -> dict[str, ColumnType]:
    """The columns that the schema of a value declares."""
    return _types(_row_fields(pair), connector)


def _row_fields(pair: SchemaPair) -> Mapping[str, Mapping[str, object]]:
    return connect.row_fields(flattened.row_schema(pair.value) if pair.flat else pair.value)


def _wrapped(
    schemas: Mapping[int, SchemaPair], connector: Connector
) -> Mapping[str, frozenset[int]]:
    found: dict[str, frozenset[int]] = {}
    for number, pair in schemas.items():
        for name, cell in _row_fields(pair).items() if pair.value else ():
            if connector.unwrap_schema(cell) is not cell:
                found[name] = found.get(name, frozenset()) | {number}
    return found


def _defaults(pair: SchemaPair) -> dict[str, str]:
    defaults = {name: field.get("default") for name, field in _row_fields(pair).items()}
    return {
        name: default if isinstance(default, str) else values.compact(default)
        for name, default in defaults.items()
        if default is not None
    }


def _key_types(pair: SchemaPair, connector: Connector) -> dict[str, ColumnType]:
    return _types(connect.fields(pair.key), connector)


def _types(
    fields: Mapping[str, Mapping[str, object]], connector: Connector
) -> dict[str, ColumnType]:
    return {
        name: from_connect(dict(connector.unwrap_schema(field))) for name, field in fields.items()
    }


def _shown(
    records: DataFrame,
    bare: Mapping[int, SchemaPair],
    declared: Mapping[int, Types],
    genuine: Column,
) -> Types:
    """What values say of the columns of rows that nobody declared, in records that are `genuine`.

    Looks at values only where names alone leave something open: that reads every document.
    """
    lacking = {number: _sent([pair]) - declared[number].keys() for number, pair in bare.items()}
    names = set().union(*lacking.values())
    if not names:
        return {}
    rows = ((row_values(), row_document()), (deleted_values(), deleted_document()))
    wanted = [(F.when(genuine, value), F.when(genuine, text)) for value, text in rows]
    without = records.where(F.col("schema_id").isin(*bare))
    return _merged(names, inference.shown(without, wanted, names))


def _merged(names: Collection[str], shown: Collection[Types]) -> Types:
    kinds = {name: [types[name] for types in shown if name in types] for name in names}
    return {name: merged(name, of) for name, of in kinds.items() if of}
