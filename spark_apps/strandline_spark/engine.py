"""The Spark engine for `strandline history --engine spark`: real runs on a lake of their own.

The capture is landed and compacted in as many runs as asked for, in a temporary folder, by the same
code that a deployment runs.
"""

import tempfile
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from pyspark.sql import Column, DataFrame, Row, SparkSession
from pyspark.sql import functions as F

from strandline.alone.capture import SOURCE, CaptureRuns
from strandline.alone.engine import outcome
from strandline.cells.values import single
from strandline.changes.record import Record
from strandline.changes.version import COLUMNS, INTERNAL_COLUMNS
from strandline.engine import Outcome, cut, recorded_at, rules
from strandline.formats.registry.schemas import NONE, Schemas
from strandline.runs.lake import SourceLake
from strandline.runs.manifest import Manifest
from strandline.runs.receipt import Receipt
from strandline.runs.way import Way
from strandline.sources.source import Source
from strandline_spark import delta, settings
from strandline_spark.attempts import SETTINGS
from strandline_spark.delta import quoted
from strandline_spark.session import local
from strandline_spark.work import done

_LANDING = (
    "topic string, topic_id string, partition int, offset bigint, timestamp timestamp, "
    "timestamp_type int, leader_epoch int, key binary, value binary, "
    "headers array<struct<key: string, value: binary>>, landed_date date"
)


def spark(
    records: Sequence[Record], *, batches: int, source: Source | None, schemas: Schemas = NONE
) -> Outcome:
    """Lands and compacts the records; `source` None: they say themselves whose they are.

    `schemas` are those that records may name.
    """
    with tempfile.TemporaryDirectory(prefix="strandline-") as folder:
        session = local("strandline history")
        session.sparkContext.setLogLevel("ERROR")
        settings.put(session, SETTINGS)
        lake = CaptureLake(
            SourceLake(Path(folder).as_posix(), SOURCE),
            source.connector if source else None,
            recorded_at(records),
            rules(source),
            schemas,
            session=session,
        )
        receipts = list(lake.runs(cut(records, batches)))
        return outcome(list(rows(session, lake.lake, receipts)), lake.lake, receipts)


@dataclass(slots=True)
class CaptureLake(CaptureRuns):
    """A lake that captures are landed in and compacted, by Spark."""

    way: Way = Way.SPREAD
    session: SparkSession = field(kw_only=True)

    def land(self, records: Iterable[Record]) -> None:
        """Appends records to the landing table."""
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

    def compact(self, manifest: Manifest) -> Receipt:
        """Applies the manifest."""
        return done(self.session, manifest)


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
