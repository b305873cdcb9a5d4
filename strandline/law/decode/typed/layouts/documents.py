"""The layouts of JSON: a msgspec decoder for each schema, or for each set of columns.

With embedded schemas the bytes before the payload are the schema: they are recognised, not parsed
again.
"""

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from operator import attrgetter
from typing import Any

import msgspec
from msgspec.structs import astuple

from strandline.cells.types import ColumnType, from_connect
from strandline.changes.rules import TableRules
from strandline.formats import connect, flattened
from strandline.law.decode.typed.cells import INT64, LEAST, MOST, SCALAR, is_fraction, of_type
from strandline.law.decode.typed.fields import Fields
from strandline.law.decode.typed.layouts.layout import Layout
from strandline.law.decode.typed.layouts.text import unclear
from strandline.law.decode.typed.refusal import UnclearError, tried
from strandline.law.decode.typed.sources import READERS, Skipped, Transaction

_PAYLOAD = b'"payload":'


class _Deleted(msgspec.Struct, gc=False):
    before: dict[str, bool | int | float | str | None] | None = None


_DELETED = msgspec.json.Decoder(_Deleted)


@dataclass(slots=True, kw_only=True)
class DocumentLayout(Layout):
    """JSON; `prefix` is what stands before the payload, empty where no schema does."""

    prefix: bytes
    decode: Callable[[bytes], Any]

    def events(self, values: Sequence[bytes]) -> tuple[list[Any], list[int]]:
        """The envelopes of values that are text which all parsers of JSON agree about."""
        read = self._payload if self.prefix else self.decode
        strange = unclear(values)
        if not strange:
            return tried(read, values)
        clear = [n for n in range(len(values)) if n not in strange]
        made, refused = tried(read, [values[n] for n in clear])
        return made, sorted([*strange, *(clear[n] for n in refused)])

    def _payload(self, value: bytes) -> Any:
        if not value.startswith(self.prefix) or not value.endswith(b"}"):
            raise UnclearError
        return self.decode(value[len(self.prefix) : -1])

    def fields(self, events: Sequence[Any]) -> Fields:
        """Attributes of the envelopes."""

        def column(name: str) -> Sequence[Any]:
            if name == "after":
                return [None if of.after is None else astuple(of.after) for of in events]
            if name == "transaction.id":
                told = [of.transaction for of in events]
                return [None if of is None else of.id for of in told]
            return list(map(attrgetter(name), events))

        return Fields(column)

    def before(self, value: bytes, unavailable: frozenset[str]) -> Mapping[str, Any]:
        """The cells of JSON's own types."""
        before = None if self.described else _DELETED.decode(value).before
        if before is None:
            return {}
        if not unavailable.isdisjoint(before.values()) or not all(map(_is_clear, before.values())):
            raise UnclearError
        return before


def _is_clear(cell: object) -> bool:
    """Whether a cell of JSON's own types is surely what was sent."""
    if type(cell) is float:
        return is_fraction(cell)
    return type(cell) is not int or LEAST <= cell <= MOST


def prefix_of(data: bytes) -> bytes:
    """What stands before the payload of a value or key with a schema; empty where there is none."""
    document = json.loads(data)
    if not isinstance(document, dict) or document.keys() != connect.WRAPPER:
        return b""
    if document["schema"] is None or data.count(_PAYLOAD) != 1:
        raise UnclearError
    end = data.index(_PAYLOAD) + len(_PAYLOAD)
    if not data.endswith(b"}") or json.loads(data[:end] + b"null}") != {
        **document,
        "payload": None,
    }:
        raise UnclearError
    return data[:end]


def learned(value: bytes, rules: TableRules) -> Layout:
    """The layout of a value; `UnclearError` where it is for the general decoder to read."""
    prefix = prefix_of(value)
    document = connect.parse(value, "value")
    connector, row = sent(document.payload)
    if flattened.is_flattened(document.payload, document.schema):
        raise UnclearError
    dialect = READERS[connector][0].dialect
    if document.schema is None:
        types, names = dict(rules.contract(dialect)), tuple(row)
    else:
        fields = connect.row_fields(document.schema)
        types = {name: from_connect(of, dialect) for name, of in fields.items()}
        names = tuple(types)
    return _layout(prefix, names, types, document.schema is not None, connector)


def sent(envelope: Any) -> tuple[str, Mapping[str, Any]]:
    """What an envelope calls its connector, and a row of it."""
    source = envelope.get("source") if isinstance(envelope, dict) else None
    if not isinstance(source, dict) or source.get("connector") not in READERS:
        raise UnclearError
    row = envelope.get("after") if envelope.get("after") is not None else envelope.get("before")
    if not isinstance(row, dict):
        raise UnclearError
    return str(source["connector"]), row


def _layout(
    prefix: bytes,
    names: tuple[str, ...],
    types: Mapping[str, ColumnType],
    described: bool,  # noqa: FBT001
    connector: str,
) -> Layout:
    if not names:
        raise UnclearError
    plans = [of_type(types[name]) if name in types else (SCALAR, None) for name in names]
    # A column may be called anything: fields are numbered, and renamed to it.
    row = msgspec.defstruct(
        "Row",
        [(f"c{n}", of) for n, (of, _) in enumerate(plans)],
        rename={f"c{n}": name for n, name in enumerate(names)},
        forbid_unknown_fields=True,
        gc=False,
    )
    envelope = msgspec.defstruct(
        "Envelope",
        [
            ("op", str),
            ("source", READERS[connector][1]),
            ("before", Skipped | None, None),
            ("after", row | None, None),
            ("transaction", Transaction | None, None),
            ("ts_ms", INT64 | None, None),
        ],
        gc=False,
    )
    return DocumentLayout(
        names=names,
        types=types,
        described=described,
        connector=connector,
        makers=tuple(make for _, make in plans),
        inferred=tuple(n for n, name in enumerate(names) if name not in types),
        prefix=prefix,
        decode=msgspec.json.Decoder(envelope).decode,
    )
