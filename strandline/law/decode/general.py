"""Stages 1 and 2, decode and position.

A record becomes a change, a fence, a control record, or goes to quarantine. Sources:
docs/facts/envelopes.md and docs/facts/types.md.
"""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from strandline import connectors
from strandline.cells.placeholder import spellings
from strandline.cells.types import ColumnType
from strandline.changes import image
from strandline.changes.change import (
    IMAGES,
    MESSAGE,
    SENT,
    STREAMED,
    Change,
    Control,
    Fence,
    Op,
    Quarantined,
)
from strandline.changes.image import Image
from strandline.changes.key import names
from strandline.changes.position import fence_seq, numbered, seq
from strandline.changes.record import Record
from strandline.changes.rules import TableRules
from strandline.connectors import CONNECTORS, Connector
from strandline.connectors.connector import integer
from strandline.errors import UndecodableError, UnknownSchemaError
from strandline.formats import connect, flattened, schema_history
from strandline.formats.connect import Document
from strandline.formats.reading import Formats
from strandline.formats.registry.framing import Framing
from strandline.formats.schema_history import Definition, SchemaHistory
from strandline.law.decode import keys
from strandline.law.decode.cells import (
    NO_ROW,
    Documents,
    content,
    is_placeholder,
    shown_types,
    typed,
)
from strandline.law.decode.event import Event
from strandline.law.decode.keys import KEY_CHANGED, Keys

NEW_KEY = "__debezium.newkey"
OLD_KEY = "__debezium.oldkey"
RUN_ID = "__debezium.context.runId"

# A document without `op` that has one of these sets of fields is Debezium's own bookkeeping
# (docs/facts/envelopes.md, "Topics without rows"): schema changes, transaction markers,
# notifications. A row that was flattened may have some of the names.
CONTROL_FIELDS = (
    frozenset({"databaseName", "ddl"}),
    frozenset({"databaseName", "tableChanges"}),
    frozenset({"ddl", "tableChanges"}),
    frozenset({"status", "id", "event_count"}),
    frozenset({"aggregate_type", "type", "additional_data"}),
)
HEARTBEAT = frozenset({"ts_ms"})  # and nothing else


@dataclass(frozen=True, slots=True)
class Decoded:
    """A row change, the column types that its schema declared, those that its values show."""

    change: Change
    columns: Mapping[str, ColumnType]
    inferred: Mapping[str, ColumnType] = field(default_factory=dict)
    connector: Connector | None = None
    described: bool = False  # the types are those of an embedded schema


Outcome = Decoded | Fence | Control | Quarantined


@dataclass(frozen=True, slots=True)
class Kin:
    """What a topic's rows say of its tombstones' keys, which have no schema of their own.

    `scopes` are the tables that the rows are of, `types` what their embedded schemas declare.
    """

    scopes: frozenset[str] = frozenset()
    types: Mapping[str, ColumnType] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Decoder:
    """Decodes the records of one table.

    `connector` None: the one that a record's `source` names. `history`: what the source's DDL said.
    `kin`: what is known of records that name no table.
    """

    connector: Connector | None = None
    rules: TableRules = field(default_factory=TableRules)
    history: SchemaHistory = field(default_factory=SchemaHistory)
    kin: Kin = field(default_factory=Kin)

    def decode(self, record: Record) -> Outcome:
        """What the record is."""
        try:
            if record.value is None:
                return self._tombstone(record)
            document = self.formats.read_value(record.value, record.headers)
            if document.payload is None:
                return self._tombstone(record)
            return self._document(record, document)
        except UndecodableError as error:
            unknown = error.ids if isinstance(error, UnknownSchemaError) else ()
            key = self._readable_key(record)
            return Quarantined(record.at, error.reason, error.detail, key, unknown)

    def _readable_key(self, record: Record) -> str | None:
        try:
            types = self._nameless_types(record.at.topic)
            return self._keys.of_record(record, types, self._nameless)[0]
        except UndecodableError:
            return None

    def _document(self, record: Record, document: Document) -> Outcome:
        value = document.payload
        if not isinstance(value, dict):
            raise UndecodableError("not_an_envelope", "the value is JSON, but no object")
        flat = self.rules.flattened
        if flat or (flat is None and flattened.is_flattened(value, document.schema)):
            return self._flattened(record, document)
        if value.get("op") is None:
            if value.keys() == HEARTBEAT or any(names <= value.keys() for names in CONTROL_FIELDS):
                return Control(record.at, value)
            raise UndecodableError("not_an_envelope", "the value has no field 'op'")
        return self._enveloped(record, document)

    def _enveloped(self, record: Record, document: Document) -> Outcome:
        value = document.payload
        op = None if value["op"] == MESSAGE else _op(value)
        source = value.get("source")
        if not isinstance(source, dict):
            raise UndecodableError("no_source", "the envelope has no 'source'")
        if op is None:
            return Control(record.at)
        return self._event(record, document, op, Event(self._connector(source), source))

    def _flattened(self, record: Record, document: Document) -> Outcome:
        moved = record.header(OLD_KEY) is not None
        value = flattened.envelope(document.payload, moved=moved)
        op, source = _op(value), value["source"]
        known = self.connector or connectors.of(source)
        connector = self._connector(source) if source.get("connector") else known
        schema = flattened.row_schema(document.schema)
        event = Event(connector, source, positioned=False)
        return self._event(record, Document(schema, value), op, event)

    def _connector(self, source: Mapping[str, Any]) -> Connector:
        found = connectors.of(source)
        named = source.get("connector")
        wanted = self.connector
        if wanted is not None and (not named or named in wanted.accepts):
            return wanted
        if found is None or wanted is not None:
            known = wanted.accepts if wanted else sorted(CONNECTORS)
            raise UndecodableError(
                "unknown_connector",
                f"source.connector is {named!r}; known are {', '.join(known)}",
            )
        return found

    def _event(self, record: Record, document: Document, op: Op, event: Event) -> Outcome:
        if op is not Op.TRUNCATE:
            names_of = self.rules.renamed_to
            named = connect.renamed(document, names_of) if names_of else document
            return self._row_change(record, named, op, event)
        epoch = self.rules.epoch(record.timestamp)
        position = event.fence(record)
        return Fence(
            record.at,
            fence_seq(position.major, epoch=epoch),
            event.time(record),
            event.scope_in(epoch),
            position=position,
            tx_id=event.tx_id(document.payload.get("transaction")),
            in_flight=event.in_flight,
            stored=record.timestamp,
        )

    def _row_change(self, record: Record, document: Document, op: Op, event: Event) -> Decoded:
        envelope = document.payload
        if op is Op.CREATE and event.snapshot:
            op = Op.READ  # the ReadToInsertEvent transform renames them (docs/facts/envelopes.md)
        before, after = (_image(document, name) for name in ("before", "after"))
        if op in IMAGES and after is None:
            raise UndecodableError("no_image", f"op is {op.value!r}, but 'after' holds no row")
        types = self._types(record, document, event, after if after is not None else before)
        key, key_types = self._keys.of_row(
            record, before if op is Op.DELETE else after, types, event
        )
        old, _ = event.unwrap(before or {}, partial=False)
        if op is Op.UPDATE and record.key is None and self._keys.is_other(key, old, types):
            # A connector that knows of no key sends no delete of the one that the row leaves.
            raise UndecodableError("key_changed", KEY_CHANGED)
        sent, left_out = event.unwrap(after or {}, partial=op is Op.UPDATE)
        printed = Documents([n for n, of in types.items() if of.is_json], event.dialect)
        row = typed(sent, types, left_out, self._unavailable) if op in IMAGES else NO_ROW
        if op in STREAMED and self.rules.never_streamed:
            row = row.without(self.rules.never_streamed)
        shown = row.types if op in IMAGES else shown_types(old, types, self._unavailable)
        position = event.position(record)
        epoch = self.rules.epoch(record.timestamp)
        moved_to = (
            self._keys.moved(record, NEW_KEY, key, key_types, event) if op is Op.DELETE else None
        )
        moved_from = (
            self._keys.moved(record, OLD_KEY, key, key_types, event) if op is Op.CREATE else None
        )
        compared = self._compared(old, key, printed) if before else None
        transaction = envelope.get("transaction")
        ordinal = event.ordinal(transaction if isinstance(transaction, dict) else {})
        placed = seq(position.major, record.at, phase=event.phase(op), epoch=epoch)
        change = Change(
            at=record.at,
            op=op,
            key=key,
            seq=placed if record.key is not None else numbered(placed, ordinal),
            position=position,
            identity=(
                epoch,
                *event.identity(record),
                op,
                moved_to,
                moved_from,
                content(printed.by_value(old)),
                content(printed.by_value(after or {})),
            ),
            time=event.time(record),
            row=row.cells if op in IMAGES else None,
            unset=row.unset,
            unheld=row.unheld,
            moved_to=moved_to,
            moved_from=moved_from,
            tx_id=event.tx_id(transaction),
            before=compared,
            certain=_certain(compared, document.schema, event, printed),
            after=self._compared(sent, key, printed) if op in IMAGES else None,
            scope=event.scope_in(epoch, mark=keys.table(key)),
            emitted=integer(envelope.get("ts_ms")),
            whole=op is Op.READ and event.whole,
            in_flight=event.in_flight and op is not Op.READ,
            ordinal=ordinal,
            connector_run=_text(record.header(RUN_ID)),
            connector_name=event.connector_name,
            stored=record.timestamp,
        )
        return Decoded(change, types, shown, event.connector, document.schema is not None)

    def _compared(self, cells: Mapping[str, Any], key: str, printed: Documents) -> Image:
        """What tells a row from others under its key: its other cells, as far as they were sent.

        Cells that only snapshots read tell nothing: they are not in the images of the stream.
        """
        own = (*names(key), *self.rules.never_streamed)
        held = {
            name: cell
            for name, cell in cells.items()
            if name not in own and not is_placeholder(cell, self._unavailable)
        }
        return printed.by_value(held)

    @property
    def _keys(self) -> Keys:
        return Keys(self.rules, self.formats)

    @property
    def formats(self) -> Formats:
        """How the records may be written."""
        rules = self.rules
        key, value = Framing(rules.key_framing), Framing(rules.value_framing)
        return Formats(self.history.schemas, key, value)

    @property
    def _nameless(self) -> Event:
        """A tombstone: it has no `source`."""
        return Event(self.connector or connectors.of_tombstone(), {})

    @property
    def _unavailable(self) -> frozenset[str]:
        return spellings(self.rules.placeholder)

    def _types(
        self, record: Record, document: Document, event: Event, row: Mapping[str, Any] | None
    ) -> Mapping[str, ColumnType]:
        """Column types: embedded, else the contract's, else those of the schema history."""
        if document.schema is not None:
            return {
                name: event.type_of(of) for name, of in connect.row_fields(document.schema).items()
            }
        definitions = self.history.of(record.at.topic, event.scope) if self.history else ()
        at = self._place(record, event) if len(definitions) > 1 else None
        return self._declared(definitions, at, row or {}, event)

    def _declared(
        self,
        definitions: Sequence[Definition],
        at: str | None,
        named: Collection[str],
        event: Event,
    ) -> Mapping[str, ColumnType]:
        contract = self.rules.contract(event.dialect)
        if not definitions:
            return contract
        definition = schema_history.in_force(definitions, at)
        if self.rules.rename:
            definition = definition.renamed(self.rules.renamed_to)
        return {**definition.types(named), **contract}

    def _place(self, record: Record, event: Event) -> str | None:
        """Where in the log the record stands; None where nothing says so."""
        try:
            major = event.position(record).major
        except UndecodableError:
            return None
        epoch = self.rules.epoch(record.timestamp)
        return schema_history.place(major, epoch=epoch, read=event.snapshot) if major else None

    def _nameless_types(self, topic: str) -> Mapping[str, ColumnType]:
        definitions = self.history.of_tombstones(topic, self.kin.scopes)
        declared = self._declared(definitions, None, (), self._nameless)
        return {**self.kin.types, **declared} if self.kin.types else declared

    def _tombstone(self, record: Record) -> Outcome:
        if record.key is None and self.rules.key:
            return Control(record.at)  # the connector knows of no key, so it names none
        types = self._nameless_types(record.at.topic)
        key, key_types = self._keys.of_record(record, types, self._nameless)
        change = Change(
            at=record.at,
            op=Op.TOMBSTONE,
            key=key,
            seq="",
            position=None,
            identity=(),
            time=self._nameless.time(record),
            stored=record.timestamp,
            moved_to=self._keys.moved(record, NEW_KEY, key, key_types, self._nameless),
        )
        return Decoded(change, {})


def decode(record: Record, connector: Connector | None = None) -> Outcome:
    """What a record is, without anything known of its table."""
    return Decoder(connector).decode(record)


def _op(envelope: Mapping[str, Any]) -> Op:
    op = next((op for op in SENT if op == envelope["op"]), None)
    if op is None:
        raise UndecodableError("unknown_op", f"op is {envelope['op']!r}")
    return op


def _image(document: Document, name: str) -> Mapping[str, Any] | None:
    """A row, with the fields that its schema describes: JsonConverter reads no others.

    None where the schema describes no field: emptied cells would be a row that never was.
    """
    row = document.payload.get(name)
    if row is not None and not isinstance(row, dict):
        raise UndecodableError("no_image", f"'{name}' is no row")
    if row is None or document.schema is None:
        return row
    described = connect.row_fields(document.schema)
    return {name: cell for name, cell in row.items() if name in described} if described else None


def _certain(
    before: Image | None,
    schema: Mapping[str, Any] | None,
    event: Event,
    printed: Documents,
) -> Image | None:
    if before is None or event.full_before:
        return before
    fields = connect.row_fields(schema).items()
    defaults = {name: field.get("default") for name, field in fields}
    return image.certain(before, printed.by_value(defaults))


def _text(data: bytes | None) -> str | None:
    return None if data is None else data.decode(errors="replace")


__all__ = (
    "CONTROL_FIELDS",
    "HEARTBEAT",
    "NEW_KEY",
    "OLD_KEY",
    "RUN_ID",
    "Decoded",
    "Decoder",
    "Outcome",
    "decode",
)
