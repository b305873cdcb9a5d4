"""The keys of records: the record's own, those of a row's columns, those that headers name."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from strandline.cells import naming
from strandline.cells.types import ColumnType
from strandline.changes.key import names
from strandline.changes.record import Record
from strandline.changes.rules import TableRules
from strandline.errors import UndecodableError
from strandline.formats import connect
from strandline.formats.reading import Formats
from strandline.law.decode.cells import key_of
from strandline.law.decode.event import Event

# ByLogicalTableRouter adds this to a record's key, and not to the keys in its headers.
ROUTED = "__dbz__physicalTableIdentifier"
NO_KEY = (
    "the record has no key: give its table a primary key, the connector message.key.columns, or "
    "the table's section in the source file its key columns as `key`"
)
KEY_CHANGED = (
    "the update gives the row another key, which records without a key cannot tell: set "
    "message.key.columns of the connector to the key columns"
)


@dataclass(frozen=True, slots=True)
class Keys:
    """Reads the keys of a table's records, which are written in these formats."""

    rules: TableRules
    formats: Formats

    def of_row(
        self,
        record: Record,
        image: Mapping[str, Any] | None,
        types: Mapping[str, ColumnType],
        event: Event,
    ) -> tuple[str, Mapping[str, ColumnType]]:
        """The canonical key and its types: of the record's key, else of the row's key columns."""
        if record.key is not None or not self.rules.key:
            return self.of_record(record, types, event)
        cells, _ = event.unwrap(image or {}, partial=False)
        missing = [name for name in self.rules.key if cells.get(name) is None]
        if missing:
            raise UndecodableError(
                "no_key", f"the row has no value for the key column {missing[0]}"
            )
        named = {name: cells[name] for name in self.rules.key}
        return key_of(named, types, "after"), types

    def is_other(self, key: str, old: Mapping[str, Any], types: Mapping[str, ColumnType]) -> bool:
        """Whether the old image has another key, as far as it tells one."""
        try:
            return key_of({name: old.get(name) for name in self.rules.key}, types, "before") != key
        except UndecodableError:
            return False

    def of_record(
        self, record: Record, types: Mapping[str, ColumnType], event: Event
    ) -> tuple[str, Mapping[str, ColumnType]]:
        """The canonical key of the record's key, and its types: its own, else those of the row."""
        if record.key is None:
            raise UndecodableError("no_key", NO_KEY)
        document = self.formats.read_key(record.key, record.headers)
        payload = document.payload
        if document.schema is not None and isinstance(payload, dict):
            fields = connect.fields(document.schema)
            types = {name: event.type_of(of) for name, of in fields.items()}
            types = naming.renamed(types, self.rules.renamed_to)
            payload = {name: payload.get(name) for name in fields}
        if not isinstance(payload, dict) or not payload:
            raise UndecodableError("no_key", "the key holds no columns")
        cells, _ = event.unwrap(payload, partial=False)
        cells = naming.renamed(cells, self.rules.renamed_to)
        return key_of(cells, types, "key"), types

    def moved(
        self, record: Record, name: str, key: str, types: Mapping[str, ColumnType], event: Event
    ) -> str | None:
        """The other key of a move; spelt by the header converter, hence compared after decoding.

        None where no header tells it, or none that can be read as a key of the same columns: then
        the row ends under one key and begins anew under the other, as if nobody had said where it
        went. Converters write dates without quotes, or bytes (docs/facts/envelopes.md); one key may
        have a NULL.
        """
        data = record.header(name)
        if data is None:
            return None
        try:
            payload = self.formats.read_header(data, f"header {name}").payload
            if not isinstance(payload, dict):
                return None
            cells, _ = event.unwrap(payload, partial=False)
            cells = naming.renamed(cells, self.rules.renamed_to)
            own = json.loads(key)
            if ROUTED in own and cells.get(ROUTED) is None:
                cells = {**cells, ROUTED: own[ROUTED]}
            return key_of({column: cells.get(column) for column in own}, types, name)
        except UndecodableError:
            return None


def table(key: str) -> str:
    """What the key calls the physical table of its row, where the router has added that."""
    return str(json.loads(key)[ROUTED]) if ROUTED in names(key) else ""
