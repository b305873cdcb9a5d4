"""What a stream's control records say of all of its tables.

Schema changes say how records without a schema are to be read, notices which snapshots are
complete. Both come in topics of their own, or between the rows.
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field, replace

from strandline.changes.change import Control
from strandline.changes.record import Coordinates, Record
from strandline.changes.rules import TableRules
from strandline.connectors import Connector
from strandline.errors import UndecodableError, UnknownSchemaError
from strandline.formats import notification, schema_history
from strandline.formats.notification import Notice, Snapshot
from strandline.formats.registry.framing import VALUE, Framing, ids
from strandline.formats.registry.schemas import NONE, Schemas
from strandline.formats.schema_history import SchemaChange, SchemaHistory
from strandline.law.decode.general import Decoder

Rules = Callable[[str], TableRules]

_INITIAL = notification.INITIAL.encode()
_NOTICE, _DDL = '"aggregate_type"', '"tableChanges"'  # fields of the schemas of announcements


@dataclass(slots=True)
class Announcements:
    """The notices and schema changes of a stream so far, by where they were met.

    `schemas` are those that records may name.
    """

    connector: Connector | None
    rules: Rules
    schemas: Schemas = NONE
    notices: set[Notice] = field(default_factory=set)
    changes: dict[Coordinates, SchemaChange] = field(default_factory=dict)

    def add(self, records: Iterable[Record]) -> bool:
        """Takes up what these records announce; whether they change a schema."""
        known = len(self.changes)
        for record in records:
            if self._may_announce(record):
                self._add(record)
        return len(self.changes) > known

    def is_telling(self, record: Record) -> bool:
        """Whether a control record is to be kept for what it says, or may say once it can be read.

        Of notices only those about whole snapshots: an incremental one sends one for every chunk.
        """
        value = record.value or b""
        words = self._described(record)
        if words is None:
            return True
        is_notice = _INITIAL in value and (b'"aggregate_type"' in value or _NOTICE in words)
        return is_notice or b'"tableChanges"' in value or _DDL in words

    def unknown(self, record: Record) -> tuple[str, ...]:
        """The ids that the schema of a record may have, where nobody knows any of them."""
        if self._described(record) is not None:
            return ()
        framing = Framing(self.rules(record.at.topic).value_framing)
        return ids(record.value or b"", VALUE, record.headers, framing)

    def _add(self, record: Record) -> None:
        known = SchemaHistory(schemas=self.schemas)
        outcome = Decoder(self.connector, self.rules(record.at.topic), known).decode(record)
        if not isinstance(outcome, Control):
            return
        notice = notification.notice(outcome.payload)
        if notice is not None:
            self.notices.add(notice)
        change = schema_history.schema_change(record.at, outcome.payload, record.timestamp)
        if change is not None:
            self.changes[record.at] = change

    @property
    def snapshots(self) -> list[Snapshot]:
        """The complete snapshots."""
        return notification.completed(self.notices)

    @property
    def history(self) -> SchemaHistory:
        """The definitions of the source's tables."""
        if not self.changes:
            return SchemaHistory(schemas=self.schemas)
        # The lineages of the log and the connector's settings are the source's: each topic knows.
        first = min(self.changes, key=lambda at: (at.topic, at.log, at.offset))
        rules = self.rules(first.topic)
        told = schema_history.history(
            self.changes.values(), self.connector, rules.epoch, rules.modes
        )
        return replace(told, schemas=self.schemas)

    def _may_announce(self, record: Record) -> bool:
        """A cheap look before the record is parsed twice."""
        value = record.value or b""
        if b'"aggregate_type"' in value or b'"tableChanges"' in value:
            return True
        words = (self._described(record) or "") if self.schemas else ""
        return _NOTICE in words or _DDL in words

    def _described(self, record: Record) -> str | None:
        """The text of the schema that the record names, if any; None where nobody knows it."""
        framing = Framing(self.rules(record.at.topic).value_framing)
        try:
            found = ids(record.value or b"", VALUE, record.headers, framing)
            return self.schemas.among(found).text if found else ""
        except UnknownSchemaError:
            return None
        except UndecodableError:
            return ""  # nobody will ever read it
