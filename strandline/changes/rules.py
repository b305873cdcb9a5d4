"""The rules of one table: what its records do not say themselves, and a source file may.

They travel in the manifest as JSON; both engines ask nothing else about a table.
"""

import json
import re
from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from datetime import datetime
from functools import lru_cache
from types import MappingProxyType
from typing import Any

from strandline.cells import modes, types
from strandline.cells.types import ColumnType, Dialect
from strandline.errors import Terminal
from strandline.sources.nearness import nearest

PLACEHOLDER = "__debezium_unavailable_value"

_PRIMITIVES = (
    "boolean", "int8", "int16", "int32", "int64", "float32", "float64", "float", "double",
    "string", "bytes",
)  # fmt: skip
# The last parts of Debezium's names of semantic types, by their package.
_SEMANTIC = {
    "io.debezium.time.": (
        "Date", "Time", "MicroTime", "NanoTime", "Timestamp", "MicroTimestamp", "NanoTimestamp",
        "ZonedTimestamp", "ZonedTime", "Year", "MicroDuration", "NanoDuration", "Interval",
        "IsoDate", "IsoTime", "IsoTimestamp",
    ),
    "io.debezium.data.": (
        "Bits", "Enum", "EnumSet", "Json", "Xml", "Uuid", "Ltree", "Tsvector",
        "VariableScaleDecimal",
    ),
    "io.debezium.data.geometry.": ("Point", "Geometry", "Geography"),
}  # fmt: skip
_FULL = {short: package + short for package, names in _SEMANTIC.items() for short in names}
_DECLARED = re.compile(r"([A-Za-z][\w.]*)(?:\((\d+)(?:,\s*(\d+))?\))?")
_DECIMAL = "org.apache.kafka.connect.data.Decimal"
_UNSIGNED = "bigint unsigned"
_LISTS = ("key", "track", "ignore", "never_streamed")  # rules that are names of columns


@dataclass(frozen=True, slots=True)
class Epoch:
    """From `since` (milliseconds, Kafka's time) on, positions are of another lineage of the log."""

    number: int
    since: int


@dataclass(frozen=True, slots=True)
class TableRules:
    """What a source file says of a table.

    `key`: the columns that identify a row where its records have no key. `track`, `ignore`: the
    columns whose change makes a version, or does not. `columns`: the column contract for records
    without schema, as (name, type) in the words of `column_type`; a `string` there is kept as a
    text where a schema says otherwise, too, unless it is a column of the key. `settings`: how the
    connector was set to write values, as (property, value); see `cells.modes`. `never_streamed`:
    the columns that snapshots read and streamed changes never hold. `rename`: what columns are
    called in the source and what here; all other rules call them as they are called here, the
    source file as the source does. `flattened`: None
    lets each record show whether ExtractNewRecordState made it. `sweep`: whether a completed
    snapshot closes the rows that it did not read. `hold_regress`: whether positions that go back,
    as where a log begins anew, or that do not compare, stop the table until somebody decides.
    `one_table`: the physical tables in its topic are one on purpose, say shards of it.
    `key_framing`, `value_framing`: how keys and values name their schema (`registry.framing`).
    `hold_unknown`: whether records that name a schema which is not stored yet stop the table until
    it is; they go to quarantine else.
    """

    key: tuple[str, ...] = ()
    track: tuple[str, ...] = ()
    ignore: tuple[str, ...] = ()
    columns: tuple[tuple[str, str], ...] = ()
    settings: tuple[tuple[str, str], ...] = ()
    never_streamed: tuple[str, ...] = ()
    rename: tuple[tuple[str, str], ...] = ()
    flattened: bool | None = None
    sweep: bool = True
    hold_regress: bool = False
    placeholder: str = PLACEHOLDER
    epochs: tuple[Epoch, ...] = ()
    one_table: bool = False
    key_framing: str = "auto"
    value_framing: str = "auto"
    hold_unknown: bool = False

    def contract(self, dialect: Dialect = types.ANY) -> Mapping[str, ColumnType]:
        """The column types of the contract, in a database of that dialect."""
        return _contract(self.columns, self.settings, dialect)

    @property
    def modes(self) -> modes.Modes:
        """How the connector was set to write values, as far as that is said."""
        return dict(self.settings)

    @property
    def renamed_to(self) -> Mapping[str, str]:
        """What columns are called here, by what the source calls them; others keep their names."""
        return _pairs(self.rename)

    def renamed(self) -> "TableRules":
        """Rules that call columns as the source does, by the names that these have here."""
        new = self.renamed_to
        lists: dict[str, Any] = {
            of: tuple(new.get(name, name) for name in getattr(self, of)) for of in _LISTS
        }
        columns = tuple((new.get(name, name), of) for name, of in self.columns)
        return replace(self, columns=columns, **lists)

    @property
    def texts(self) -> frozenset[str]:
        """The columns that the contract keeps as texts, whatever schemas say of them."""
        return frozenset(name for name, of in self.contract().items() if of == types.TEXT)

    def epoch(self, timestamp: int) -> int:
        """The lineage of the log that a record of that Kafka time belongs to."""
        return max((e.number for e in self.epochs if e.since <= timestamp), default=0)

    def tracked(self, columns: tuple[str, ...]) -> tuple[str, ...]:
        """Those columns whose change makes a version, of all that the table has.

        Raises `Terminal` where `track` names another: versions would be lost without a word.
        """
        lacking = [name for name in self.track if name not in {*columns, *dict(self.columns)}]
        if lacking and columns:
            raise Terminal(
                f"'track' names the column '{lacking[0]}', which the table does not have; "
                f"{nearest(lacking[0], columns)}. Mend it in the source file; a column that is to "
                "come may be declared in 'columns'"
            )
        wanted, ignored = self.track or columns, {*self.ignore, *self.never_streamed}
        return tuple(name for name in columns if name in wanted and name not in ignored)

    def noted(self) -> str:
        """As the text that a run leaves: under other rules all of a history may be another one."""
        return json.dumps(asdict(self), sort_keys=True)

    def are_noted(self, text: str) -> bool:
        """Whether a run has left these, be it one of a release that knew fewer.

        Whether a table waits for a schema says nothing of how its history is made.
        """
        try:
            found = TableRules.from_fields(json.loads(text))
            return replace(found, hold_unknown=self.hold_unknown) == self
        except (ValueError, TypeError, KeyError):
            return False

    @staticmethod
    def from_fields(fields: Mapping[str, Any]) -> "TableRules":
        """The rules from JSON's types, as `dataclasses.asdict` gives them."""
        lists = {name: tuple(fields[name]) for name in _LISTS if name in fields}
        return TableRules(
            **{
                **fields,
                **lists,
                "columns": tuple((name, of) for name, of in fields["columns"]),
                "rename": tuple((name, new) for name, new in fields.get("rename", ())),
                "settings": tuple((name, of) for name, of in fields.get("settings", ())),
                "epochs": tuple(Epoch(**each) for each in fields["epochs"]),
            }
        )


@lru_cache(maxsize=256)  # each record is read by it
def _pairs(pairs: tuple[tuple[str, str], ...]) -> Mapping[str, str]:
    return MappingProxyType(dict(pairs))


@lru_cache(maxsize=256)  # so is it by this
def _contract(
    columns: tuple[tuple[str, str], ...], settings: tuple[tuple[str, str], ...], dialect: Dialect
) -> Mapping[str, ColumnType]:
    said = dict(settings)
    return MappingProxyType(
        {name: modes.written(column_type(text, dialect), said) for name, text in columns}
    )


def column_type(text: str, dialect: Dialect = types.ANY) -> ColumnType:
    """The type of a contract's words; ValueError says which words there are.

    Words: Connect's primitive types, `decimal(p,s)`, `bigint unsigned`, and the semantic types of
    Debezium and Connect by full name or last part (`io.debezium.time.MicroTimestamp`, `Bits(8)`).
    """
    return types.from_connect(_connect_schema(text.strip()), dialect)


def _connect_schema(text: str) -> dict[str, Any]:
    if text.lower() == _UNSIGNED:
        return {"type": "int64", "parameters": {"__debezium.source.column.type": text.upper()}}
    declared = _DECLARED.fullmatch(text)
    if declared is None:
        raise ValueError(_unknown(text))
    name, first, second = declared.groups()
    if name.lower() == "decimal":
        if first and not int(first):
            raise ValueError(f"a decimal has 1 digit or more: {text!r}")
        parameters = {"scale": second or "0"} | (
            {"connect.decimal.precision": first} if first else {}
        )
        return {"type": "bytes", "name": _DECIMAL, "parameters": parameters}
    if name in _PRIMITIVES:
        return {"type": name}
    full = _FULL.get(name, name)
    if types.is_semantic(full):
        declared_length = {"length": first, types.FRACTION: first} if first else {}
        return {"type": "string", "name": full, "parameters": declared_length}
    raise ValueError(_unknown(text))


def _unknown(text: str) -> str:
    return (
        f"unknown type {text!r}; allowed are {', '.join(_PRIMITIVES)}, decimal(p,s), {_UNSIGNED}, "
        "and Debezium's semantic types, such as MicroTimestamp, ZonedTimestamp, Date, Json, Bits(8)"
    )


def since(moment: datetime) -> int:
    """An instant in milliseconds, as `Epoch` wants it."""
    return int(moment.timestamp() * 1000)
