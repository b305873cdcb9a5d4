"""A history table: its versions as Arrow, and the one commit that replaces what a run has changed.

Partitioned by `_is_head` (the last version of each key), so that what only ends heads reads no
closed versions.
"""

import re
from collections.abc import Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from datetime import UTC, datetime
from itertools import zip_longest
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
from deltalake import DeltaTable, Schema

from strandline.alone.stores import fencing
from strandline.alone.stores.datafiles import DataFile, Target
from strandline.alone.stores.fencing import Kept
from strandline.alone.stores.tables import MOST_NAMES, literal, selected, whole
from strandline.cells import naming, widening
from strandline.cells.instants import micros
from strandline.cells.types import ColumnType
from strandline.changes.columns import (
    ENTITY_ID,
    IS_CURRENT,
    IS_HEAD,
    KEY,
    OFFSET,
    POSITION,
    RECORDED_AT,
    SCOPE,
    SEQ_FROM,
    SEQ_SEEN,
    SEQ_TO,
    TOPIC,
    VALID_FROM,
    VALID_TO,
)
from strandline.changes.version import COLUMNS, INTERNAL_COLUMNS
from strandline.errors import BeyondAloneError
from strandline.law import audit
from strandline.law.plain import heads
from strandline.law.plain.continued import Onward
from strandline.law.versions import Versions

_TYPES: Mapping[str, pa.DataType] = {
    "boolean": pa.bool_(),
    "smallint": pa.int16(),
    "int": pa.int32(),
    "bigint": pa.int64(),
    "float": pa.float32(),
    "double": pa.float64(),
    "string": pa.string(),
    "binary": pa.binary(),
    "date": pa.date32(),
    "timestamp": pa.timestamp("us", "UTC"),
    "timestamp_ntz": pa.timestamp("us"),
    "array<string>": pa.list_(pa.string()),
}
_DECIMAL = re.compile(r"decimal\((\d+),(-?\d+)\)")
# Columns of which Delta's log knows the bounds before others, and how many, as where Delta writes.
_TOLD = (KEY, SEQ_FROM, VALID_FROM, VALID_TO)
_MOST_TOLD = 32
_VARIED = (KEY, SEQ_FROM, SEQ_TO, SEQ_SEEN, POSITION, OFFSET, ENTITY_ID)
# The place of a version that goes, beside those that come.
_GONE_KEY, _GONE_SEQ = "_gone_key", "_gone_seq"
_GONE = pa.schema([(_GONE_KEY, pa.string()), (_GONE_SEQ, pa.string())])

Place = tuple[str, str]  # the key of a version and the position at which it begins


@dataclass(frozen=True, slots=True)
class Standing:
    """Rows of a history, with the number of each by its place."""

    rows: pa.Table
    places: Mapping[Place, int]

    @staticmethod
    def of(rows: pa.Table) -> "Standing":
        """Rows that have their places in two columns."""
        keys, begun = rows[KEY].to_pylist(), rows[SEQ_FROM].to_pylist()
        return Standing(rows, {place: n for n, place in enumerate(zip(keys, begun, strict=True))})

    @property
    def open(self) -> int:
        """How many of the rows are current."""
        return sum(self.rows[IS_CURRENT].to_pylist())

    @property
    def ended(self) -> int:
        """How many of the rows are not."""
        return len(self.places) - self.open


NOTHING = Standing.of(pa.table({KEY: [], SEQ_FROM: [], IS_CURRENT: []}))


@dataclass(frozen=True, slots=True)
class Replacement:
    """What a run changes in a history.

    `come` are rows of new versions, or of those that are other ones now, `gone` the places of those
    that they replace, or that never were. `whole`: `come` is all of the history. `only_heads`: all
    that go are last versions of their keys. `columns` are the table's business columns.
    """

    columns: Mapping[str, ColumnType]
    come: pa.Table
    gone: Sequence[Place]
    whole: bool = False
    only_heads: bool = False


def schema(columns: Mapping[str, ColumnType]) -> pa.Schema:
    """The Arrow schema of a history with these business columns."""
    admit(columns)
    business = [(name, _type(of.spark)) for name, of in columns.items()]
    own = [(name, _type(of)) for name, of in (*COLUMNS, *INTERNAL_COLUMNS)]
    return pa.schema([*business, *own])


def admit(columns: Mapping[str, ColumnType]) -> None:
    """`BeyondAloneError` where one of these business columns cannot be written here."""
    strange = next((name for name in columns if not naming.is_plain(name)), None)
    if strange is not None:
        raise BeyondAloneError(
            f"column {strange!r} has letters that take Delta's column mapping, which delta-rs does "
            "not write: go through Spark (`--engine spark`), or give it another name with 'rename' "
            "in the source file"
        )


def _type(spark: str) -> pa.DataType:
    decimal = _DECIMAL.fullmatch(spark)
    if decimal is not None:
        return pa.decimal128(int(decimal[1]), int(decimal[2]))
    return _TYPES[spark]


def columns(table: DeltaTable) -> dict[str, ColumnType]:
    """The business columns of a history, with what they hold."""
    own = {name for name, _ in (*COLUMNS, *INTERNAL_COLUMNS)}
    fields = pa.schema(table.schema().to_arrow())
    return {of.name: widening.stored(_spark(of.type)) for of in fields if of.name not in own}


def _spark(of: pa.DataType) -> str:
    if pa.types.is_decimal(of):
        return f"decimal({of.precision},{of.scale})"
    return next(name for name, each in _TYPES.items() if each == of)


def commit(uri: str, stored: DeltaTable | None, of: Replacement, run: int, text: str) -> int:
    """One commit with what the run changes, if only its mark; the table's version after it.

    `stored` is the table as the run has found it; `OvertakenError` where it is another one now.
    """
    if stored is not None and of.gone and not of.whole:
        _merge(stored, of, run, text)
        return stored.version()
    table = Kept(uri, partitions=[IS_HEAD])
    table.write(stored, of.come, run, text=text, whole=of.whole)
    there = table.open()
    return -1 if there is None else there.version()


def target(uri: str, columns: Mapping[str, ColumnType]) -> Target:
    """Where tasks write the versions of a history with these business columns."""
    return Target.of(uri, [*_TOLD, *columns][:_MOST_TOLD], _VARIED)


def begin(
    uri: str, files: Sequence[DataFile], columns: Mapping[str, ColumnType], run: int, text: str
) -> None:
    """The commit that makes the table of files that tasks have written."""
    Kept(uri, partitions=[IS_HEAD]).add(None, files, schema(columns), run, text=text)


def has(table: DeltaTable, columns: Mapping[str, ColumnType]) -> bool:
    """Whether the table has these business columns, in these types."""
    wanted = Schema.from_arrow(schema(columns)).fields
    return {of.name: of.type for of in table.schema().fields} == {of.name: of.type for of in wanted}


def _merge(table: DeltaTable, of: Replacement, run: int, text: str) -> None:
    keys, places = zip(*of.gone, strict=True)
    going = pa.table([list(keys), list(places)], schema=_GONE)
    source = pa.concat_tables([of.come, going], promote_options="default")
    names = of.come.schema.names
    # Said by the partition, it keeps delta-rs from reading the closed versions.
    where = f"t.{IS_HEAD} AND " if of.only_heads else ""
    with fencing.overtaken(table.table_uri):
        (
            table.merge(
                source,
                f"{where}t.{KEY} = s.{_GONE_KEY} AND t.{SEQ_FROM} = s.{_GONE_SEQ}",
                source_alias="s",
                target_alias="t",
                commit_properties=fencing.commit(run, text),
            )
            .when_matched_delete()
            .when_not_matched_insert(
                {_quoted(name): f"s.{_quoted(name)}" for name in names},
                predicate=f"s.{_GONE_KEY} IS NULL",
            )
            .execute()
        )


def restore(stored: DeltaTable, old: DeltaTable, run: int, text: str) -> None:
    """One commit that makes the table what it was at an `old` version of it."""
    Kept(stored.table_uri, partitions=[IS_HEAD]).write(
        stored, whole(old), run, text=text, whole=True
    )


def ended(table: DeltaTable, before: str) -> int:
    """How many versions ended before that instant, without the last ones of their keys."""
    return int(whole(table, _ended(before)).num_rows)


def forget(table: DeltaTable, before: str, run: int, text: str) -> None:
    """Deletes these in one commit."""
    with fencing.overtaken(table.table_uri):
        table.delete(_ended(before), commit_properties=fencing.commit(run, text))


def _ended(before: str) -> str:
    moment = literal(datetime.fromisoformat(before).astimezone(UTC).isoformat())
    instant = f"arrow_cast({moment}, 'Timestamp(Microsecond, Some(\"UTC\"))')"
    return f"NOT {IS_HEAD} AND {VALID_TO} < {instant}"


def _quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'


@dataclass(frozen=True, slots=True)
class Beside:
    """What a history has of versions beside what they say, an entry for each of them.

    `seen` is the text of `strandline.law.plain.heads`, `recorded` microseconds since 1970.
    """

    is_last: Sequence[bool]
    seen: Sequence[str | None]
    recorded: Sequence[int]


def made(
    versions: tuple[Mapping[str, Sequence[Any]], Mapping[str, Sequence[Any]]],
    beside: Beside,
    columns: Mapping[str, ColumnType],
    topic: str,
) -> pa.Table:
    """Versions (`Versions.columns`) as rows of a history with these business columns.

    Raises `AuditError` where they break law 5.
    """
    fields, business = versions
    audit.check(fields, topic)
    count = len(fields["key"])
    told: dict[str, Any] = {f"_{name}": own for name, own in fields.items()} | {
        TOPIC: fields.get("topic", [topic] * count),
        RECORDED_AT: beside.recorded,
        IS_CURRENT: [until is None for until in fields["seq_to"]],
        IS_HEAD: beside.is_last,
        SCOPE: [None] * count,
        SEQ_SEEN: beside.seen,
    }
    named = [(name, of.spark, business[name]) for name, of in columns.items()]
    named += [(name, of, told[name]) for name, of in (*COLUMNS, *INTERNAL_COLUMNS)]
    arrays = [pa.array(own, _type(of)) for _, of, own in named]
    return pa.table(arrays, [name for name, _, _ in named])


def empty(keys: Sequence[str], columns: Mapping[str, ColumnType]) -> pa.Table:
    """Rows of a history with a key and nothing else."""
    named = [*((name, of.spark) for name, of in columns.items()), *COLUMNS, *INTERNAL_COLUMNS]
    arrays = [pa.array(keys if n == KEY else [None] * len(keys), _type(of)) for n, of in named]
    return pa.table(arrays, [name for name, _ in named])


def all_made(versions: Versions, columns: Mapping[str, ColumnType], topic: str) -> pa.Table:
    """All versions of some keys as rows of a history."""
    fields, business = versions.columns()
    keys = fields["key"]
    is_last = [key != following for key, following in zip_longest(keys, keys[1:])]
    seen = [
        heads.seen(of) if last and (of := versions.standing(key)) is not None else None
        for key, last in zip(keys, is_last, strict=True)
    ]
    recorded = [micros(versions.recorded_at)] * len(keys)
    return made((fields, business), Beside(is_last, seen, recorded), columns, topic)


def gone_on(
    made_of: Onward, columns: Mapping[str, ColumnType], topic: str, moment: int
) -> pa.Table:
    """The versions of keys that went on; the new ones were recorded at that moment."""
    recorded = [moment if each is None else each for each in made_of.recorded]
    beside = Beside(made_of.is_last, made_of.seen, recorded)
    return made((made_of.fields, made_of.business), beside, columns, topic)


def standing(table: DeltaTable | None, keys: AbstractSet[str] | None) -> Standing:
    """The rows of these keys, of all where None are named."""
    if table is None:
        return NOTHING
    if keys is not None and len(keys) <= MOST_NAMES:
        named = sorted(keys) or [""]  # a list that is empty is no SQL, and no key is empty
        return Standing.of(selected(table, "SELECT * FROM stored WHERE _key IN :keys", keys=named))
    found = selected(table, "SELECT * FROM stored")
    if keys is not None:
        found = found.filter(pc.is_in(found[KEY], pa.array(sorted(keys), found[KEY].type)))
    return Standing.of(found)
