"""The Spark engine for `strandline history --engine spark`: real runs on a lake of their own.

The capture is landed and compacted in as many runs as asked for, in a temporary folder, by the same
code that a deployment runs.
"""

import tempfile
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from itertools import groupby
from pathlib import Path
from typing import Any

from pyspark.sql import Column, DataFrame, Row, SparkSession
from pyspark.sql import functions as F

from strandline import connectors
from strandline.cells.values import single
from strandline.changes.change import Control, Quarantined
from strandline.changes.record import Coordinates, Record
from strandline.changes.version import COLUMNS, INTERNAL_COLUMNS
from strandline.engine import Outcome, cut, recorded_at, rules
from strandline.errors import Terminal, UndecodableError
from strandline.formats import connect
from strandline.law import Rules, no_rules, total
from strandline.law.decode.general import Decoder
from strandline.runs.lake import SourceLake
from strandline.runs.manifest import Manifest, OffsetRange, TableCut
from strandline.runs.receipt import Counts, Receipt, TableReceipt
from strandline.sources.source import Source
from strandline_spark import delta, settings
from strandline_spark.changes import quoted
from strandline_spark.compaction import SETTINGS, compact
from strandline_spark.session import local

_LANDING = (
    "topic string, topic_id string, partition int, offset bigint, timestamp timestamp, "
    "timestamp_type int, leader_epoch int, key binary, value binary, "
    "headers array<struct<key: string, value: binary>>, landed_date date"
)
_SOURCE = "capture"
_ANY = "postgresql"  # of records that name no connector only the offset counts


def spark(records: Sequence[Record], *, batches: int, source: Source | None) -> Outcome:
    """Lands and compacts the records; `source` None: they say themselves whose they are."""
    with tempfile.TemporaryDirectory(prefix="strandline-") as folder:
        session = local("strandline history")
        session.sparkContext.setLogLevel("ERROR")
        settings.put(session, SETTINGS)
        capture = CaptureLake(
            session,
            SourceLake(Path(folder).as_posix(), _SOURCE),
            source.connector if source else _connector(records),
            recorded_at(records),
            rules(source),
        )
        receipts = list(capture.runs(cut(records, batches)))
        return Outcome(
            rows=list(rows(session, capture.lake, receipts)),
            quarantined=_quarantined(session, capture.lake),
            counts=_counts(receipts),
            stopped=_stopped(receipts),
            doubtful=_doubtful(receipts),
        )


def _doubtful(receipts: Iterable[Receipt]) -> list[tuple[str, str]]:
    first: dict[str, str] = {}
    for table in (table for receipt in receipts for table in receipt.tables):
        if table.regress is not None:
            first.setdefault(table.topic, table.regress)
    return sorted(first.items())


def _stopped(receipts: Iterable[Receipt]) -> list[tuple[str, str]]:
    """The tables that the last run left behind, and why; other faults are raised."""
    last: dict[str, TableReceipt] = {t.topic: t for r in receipts for t in r.tables}
    failed = {topic: table for topic, table in last.items() if table.error is not None}
    for topic, table in failed.items():
        if table.transient:
            raise Terminal(f"{topic}: {table.error}")
    return [(topic, str(table.error)) for topic, table in sorted(failed.items())]


@dataclass(frozen=True, slots=True)
class CaptureLake:
    """A lake that captures are landed in and compacted; every run records the same `moment`."""

    session: SparkSession
    lake: SourceLake
    connector: str
    moment: datetime
    rules: Rules = no_rules
    known: set[str] = field(default_factory=set)

    def runs(self, batches: Iterable[Sequence[Record]]) -> Iterator[Receipt]:
        """Lands and compacts the records, each batch in a run of its own.

        What a table could not apply is applied again by the next run, as a deployment does it.
        """
        pending: list[Record] = []
        for number, batch in enumerate(batches, 1):
            self.land(batch)
            receipt = compact(self.session, self.manifest(number, [*pending, *batch]))
            failed = {table.topic for table in receipt.tables if table.error is not None}
            pending = [record for record in [*pending, *batch] if record.at.topic in failed]
            yield receipt

    def land(self, records: Iterable[Record]) -> None:
        """Appends records to the landing table, as the landing task does with real ones."""
        rows = [
            (
                record.at.topic,
                record.at.topic,
                record.at.partition,
                record.at.offset,
                datetime.fromtimestamp(record.timestamp / 1000, UTC),
                0,
                0,
                record.key,
                record.value,
                list(record.headers),
                self.moment.date(),
            )
            for record in records
        ]
        frame = self.session.createDataFrame(rows, _LANDING).coalesce(1)
        frame.write.format("delta").mode("append").save(self.lake.landing)

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
        if any(b'"aggregate_type"' in (record.value or b"") for record in batch):
            tables = {topic: tables.get(topic, []) for topic in sorted(self.known)}
        return Manifest(
            source=self.lake.source,
            connector=self.connector,
            lake=self.lake.root,
            number=number,
            planned_at=self.moment.isoformat(),
            landing_version=delta.version(self.session, self.lake.landing),
            tables=tuple(
                TableCut(topic, topic, tuple(_ranges(found)), self.rules(topic))
                for topic, found in tables.items()
            ),
            control=tuple(
                piece for t in topics.keys() - tables.keys() for piece in _ranges(topics[t])
            ),
        )

    def _is_control(self, record: Record) -> bool:
        return isinstance(Decoder(rules=self.rules(record.at.topic)).decode(record), Control)


def _ranges(records: Iterable[Record]) -> Iterator[OffsetRange]:
    """The coordinates as ranges without holes."""
    places = sorted({(r.at.topic, r.at.partition, r.at.offset) for r in records})
    pieces = groupby(enumerate(places), key=lambda p: (p[1][0], p[1][1], p[1][2] - p[0]))
    for (topic, partition, _), piece in pieces:
        offsets = [place[2] for _, place in piece]
        yield OffsetRange(topic, topic, partition, offsets[0], offsets[-1] + 1)


def _connector(records: Iterable[Record]) -> str:
    """The connector that the first readable envelope names, or gives away by its fields."""
    for record in records:
        try:
            payload = connect.parse(record.value or b"null", "value").payload
        except UndecodableError:
            continue
        source = payload.get("source") if isinstance(payload, dict) else None
        if isinstance(source, dict) and "op" in payload:
            found = connectors.of(source)
            if found is not None:
                return found.names[0]
    return _ANY


def rows(
    session: SparkSession, lake: SourceLake, receipts: Iterable[Receipt]
) -> Iterator[tuple[str, Mapping[str, object]]]:
    topics = {table.topic for receipt in receipts for table in receipt.tables if table.changed}
    meta = [name for name, _ in COLUMNS]
    for topic in sorted(topics):
        history = delta.read(session, lake.history(topic))
        internal = {name for name, _ in INTERNAL_COLUMNS}
        business = [name for name in history.columns if name not in {*meta, *internal}]
        ordered = history.orderBy("_key", "_seq_from").select(
            *(_handed_over(history, name) for name in [*business, *meta])
        )
        # A history may be more than the driver holds. Spark 4.2 keeps these jobs until it stops.
        for row in ordered.toLocalIterator():
            yield topic, _cells(history, row)


def _cells(history: DataFrame, row: Row) -> Mapping[str, object]:
    """Instants were handed over as the naive UTC times that they are; floats of 32 bits as 64."""
    kinds = dict(history.dtypes)
    return {name: _cell(value, kinds[name]) for name, value in row.asDict().items()}


def _cell(value: Any, kind: str) -> object:
    if value is None or kind not in {"timestamp", "float"}:
        return value
    return single(value) if kind == "float" else value.replace(tzinfo=UTC)


def _handed_over(history: DataFrame, name: str) -> Column:
    """An instant as a local time of UTC: PySpark would put it into the driver's zone."""
    column = F.col(quoted(name))
    instant = dict(history.dtypes)[name] == "timestamp"
    return column.cast("timestamp_ntz").alias(name) if instant else column


def _quarantined(session: SparkSession, lake: SourceLake) -> list[Quarantined]:
    found = delta.read(session, lake.quarantine).orderBy("topic", "partition", "offset")
    return [
        Quarantined(
            Coordinates(row["topic"], row["partition"], row["offset"]), row["reason"], row["detail"]
        )
        for row in found.select(
            "topic",
            "partition",
            "offset",
            "reason",
            F.coalesce("detail", F.lit("")).alias("detail"),
        ).toLocalIterator()
    ]


def _counts(receipts: Sequence[Receipt]) -> Counts:
    """Law 6 over all runs; rows as they stand after the last."""
    tables = [table for receipt in receipts for table in receipt.tables]
    last = {table.topic: table.counts for table in tables}
    control = sum(receipt.control for receipt in receipts)
    summed = total([*(table.counts for table in tables), Counts(landed=control, control=control)])
    return replace(
        summed,
        history_rows=sum(counts.history_rows for counts in last.values()),
        current_rows=sum(counts.current_rows for counts in last.values()),
    )
