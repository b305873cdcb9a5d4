"""A lake that a capture is landed in and compacted, run after run, as a deployment does it."""

from abc import ABC, abstractmethod
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from itertools import groupby

import pyarrow as pa
from deltalake import write_deltalake

from strandline.alone import work
from strandline.alone.stores import schemas
from strandline.alone.stores.landing import LANDING, cells
from strandline.alone.stores.tables import opened, storage_options
from strandline.changes.change import Control
from strandline.changes.record import Record
from strandline.formats import notification
from strandline.formats.registry.schemas import NONE, Schemas
from strandline.formats.schema_history import SchemaHistory
from strandline.law import Rules, no_rules
from strandline.law.decode.general import Decoder, Outcome
from strandline.runs.lake import SourceLake
from strandline.runs.manifest import Manifest, OffsetRange, TableCut
from strandline.runs.receipt import Receipt
from strandline.runs.way import Way

SOURCE = "capture"
_UNKNOWN = {"timestamp_type": 0, "leader_epoch": 0}  # of which a capture tells nothing


@dataclass(slots=True)
class CaptureRuns(ABC):
    """The runs of captures in a lake, whichever engine works them off.

    All of them record the same `moment`. `connector` is that of the manifests, `schemas` are those
    that records name, `known` are the tables that there have been.
    """

    lake: SourceLake
    connector: str | None
    moment: datetime
    rules: Rules = no_rules
    schemas: Schemas = NONE
    known: set[str] = field(default_factory=set)
    way: Way = Way.ALONE

    @abstractmethod
    def land(self, records: Iterable[Record]) -> None:
        """Appends records to the landing table, as the landing task does with real ones."""

    @abstractmethod
    def compact(self, manifest: Manifest) -> Receipt:
        """Applies the manifest."""

    def runs(self, batches: Iterable[Sequence[Record]]) -> Iterator[Receipt]:
        """Lands and compacts the records, each batch in a run of its own.

        What a table could not apply is applied again by the next run, as a deployment does it.
        """
        if self.schemas:
            found = schemas.arrow(self.schemas.known.values(), {}, self.moment)
            schemas.append(self.lake.schemas, found)
        pending: list[Record] = []
        for number, batch in enumerate(batches, 1):
            self.land(batch)
            receipt = self.compact(self.manifest(number, [*pending, *batch]))
            failed = {table.topic for table in receipt.tables if table.error is not None}
            pending = [record for record in [*pending, *batch] if record.at.topic in failed]
            yield receipt

    def manifest(self, number: int, batch: Iterable[Record]) -> Manifest:
        """The manifest of a run that applies exactly these records.

        A capture may hold the offsets of a partition with holes: a range for each piece.
        """
        topics = defaultdict(list)
        for record in batch:
            topics[record.at.topic].append(record)
        tables = {
            topic: found for topic, found in topics.items() if not all(map(self._is_control, found))
        }
        self.known.update(tables)
        if any(self._is_notice(each) for topic in topics.keys() - tables for each in topics[topic]):
            tables = {topic: tables.get(topic, []) for topic in sorted(self.known)}
        landing = opened(self.lake.landing)
        return Manifest(
            source=self.lake.source,
            connector=self.connector,
            lake=self.lake.root,
            number=number,
            planned_at=self.moment.isoformat(),
            landing_version=-1 if landing is None else landing.version(),
            tables=tuple(
                TableCut(topic, topic, tuple(_ranges(found)), self.rules(topic))
                for topic, found in tables.items()
            ),
            control=tuple(
                piece for t in topics.keys() - tables.keys() for piece in _ranges(topics[t])
            ),
            way=self.way,
            schemas_version=schemas.version(self.lake.schemas),
        )

    def _is_control(self, record: Record) -> bool:
        return isinstance(self._decoded(record), Control)

    def _is_notice(self, record: Record) -> bool:
        outcome = self._decoded(record)
        return isinstance(outcome, Control) and notification.notice(outcome.payload) is not None

    def _decoded(self, record: Record) -> Outcome:
        known = SchemaHistory(schemas=self.schemas)
        return Decoder(rules=self.rules(record.at.topic), history=known).decode(record)


class CaptureLake(CaptureRuns):
    """A lake that captures are landed in and compacted, alone."""

    def compact(self, manifest: Manifest) -> Receipt:
        """Applies the manifest."""
        return work.work_off(manifest)

    def land(self, records: Iterable[Record]) -> None:
        """Appends records to the landing table, as the landing task does with real ones."""
        day = self.moment.date()
        rows = [
            {**cells(record), **_UNKNOWN, "topic_id": record.at.topic, "landed_date": day}
            for record in records
        ]
        write_deltalake(
            self.lake.landing,
            pa.Table.from_pylist(rows, schema=LANDING),
            mode="append",
            partition_by=["landed_date"],
            storage_options=storage_options(),
        )


def _ranges(records: Iterable[Record]) -> Iterator[OffsetRange]:
    """The coordinates as ranges without holes."""
    places = sorted({(r.at.topic, r.at.partition, r.at.offset) for r in records})
    pieces = groupby(enumerate(places), key=lambda p: (p[1][0], p[1][1], p[1][2] - p[0]))
    for (topic, partition, _), piece in pieces:
        offsets = [place[2] for _, place in piece]
        yield OffsetRange(topic, topic, partition, offsets[0], offsets[-1] + 1)
