"""What a source's control topics tell, kept: DDL events, and notices about snapshots.

They are metadata, a few per table; the core reads them, on the driver, for both engines alike.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F

from strandline.changes.change import Control
from strandline.changes.record import Coordinates, Record
from strandline.changes.rules import TableRules
from strandline.connectors import Connector
from strandline.formats import notification, schema_history
from strandline.formats.notification import Notice, Snapshot
from strandline.formats.schema_history import SchemaChange, SchemaHistory
from strandline.law.decode.general import Decoder
from strandline.runs.lake import SourceLake
from strandline.runs.manifest import Manifest
from strandline_spark import delta, landing
from strandline_spark.single import single

EVENTS = (
    "topic STRING, topic_id STRING, partition INT, offset BIGINT, timestamp TIMESTAMP, "
    "value BINARY, run INT"
)
# Of the notices only those about whole snapshots: an incremental one sends one for every chunk.
_TELLING = (f'"{notification.INITIAL}"', '"tableChanges"')


@dataclass(frozen=True, slots=True)
class Announced:
    """What is known after a run: the schema history, and what was said of snapshots.

    `records` counts the control records of the run; `notices` are with the runs that kept them.
    """

    records: int
    history: SchemaHistory
    notices: Sequence[tuple[int, Notice]] = ()

    @property
    def snapshots(self) -> Sequence[Snapshot]:
        """Those that were completed."""
        return notification.completed(notice for _, notice in self.notices)

    def completed_since(self, run: int) -> Sequence[Snapshot]:
        """Those that were not yet completed by what was said up to that run."""
        earlier = notification.completed(notice for kept, notice in self.notices if kept <= run)
        return [snapshot for snapshot in self.snapshots if snapshot not in earlier]


def announced(spark: SparkSession, manifest: Manifest, connector: Connector) -> Announced:
    """Reads the run's control records and keeps those that tell something."""
    lake = SourceLake(manifest.lake, manifest.source)
    count = 0
    if manifest.control:
        landed = landing.records(spark, lake.landing, manifest.landing_version, manifest.control)
        announcing = _is_announcement()
        counts = F.count("*").alias("all"), F.count_if(announcing).alias("telling")
        found = single(landed.agg(*counts))
        count = found["all"]
        if found["telling"]:
            _keep(landed.where(announcing), lake.control, manifest.number)
    if not delta.exists(spark, lake.control):
        return Announced(count, SchemaHistory())
    events = _known(delta.read(spark, lake.control), manifest.number)
    history = schema_history.history(_ddl(events), connector, _epoch(manifest))
    return Announced(count, history, tuple(_notices(events)))


def _is_announcement() -> Column:
    text = F.col("value").cast("string")
    return F.contains(text, F.lit(_TELLING[0])) | F.contains(text, F.lit(_TELLING[1]))


def _keep(telling: DataFrame, path: str, run: int) -> None:
    spark = telling.sparkSession
    delta.create(spark, path, delta.schema(EVENTS), [], {})
    names = ("topic", "topic_id", "partition", "offset", "timestamp", "value")
    delta.append(telling.select(*names, F.lit(run).alias("run")), path, run)


@dataclass(frozen=True, slots=True)
class _Event:
    """A control record that told something, and the run that kept it."""

    record: Record
    control: Control
    run: int


def _known(events: DataFrame, run: int) -> list[_Event]:
    """The events of all runs up to this one, in the order of their coordinates."""
    own = events.where((F.col("run") <= run) & _is_announcement())
    ordered = own.orderBy("topic", "partition", "offset")
    found = []
    stored = F.unix_millis("timestamp").alias("stored")
    columns = ("topic", "partition", "offset", stored, "value", "run")
    for row in ordered.select(*columns).collect():
        at = Coordinates(row["topic"], row["partition"], row["offset"])
        record = Record(at, row["stored"], None, bytes(row["value"]))
        outcome = Decoder().decode(record)
        if isinstance(outcome, Control):
            found.append(_Event(record, outcome, row["run"]))
    return found


def _ddl(events: Iterable[_Event]) -> Iterator[SchemaChange]:
    for event in events:
        record = event.record
        change = schema_history.schema_change(record.at, event.control.payload, record.timestamp)
        if change is not None:
            yield change


def _epoch(manifest: Manifest) -> schema_history.Epochs:
    """The lineages of the log are the source's: each of its tables knows them."""
    rules = (table.rules for table in manifest.tables)
    return next(rules, TableRules()).epoch


def _notices(events: Iterable[_Event]) -> Iterator[tuple[int, Notice]]:
    for event in events:
        notice = notification.notice(event.control.payload)
        if notice is not None:
            yield event.run, notice
