"""What a source's control topics tell, kept: DDL events, and notices about snapshots.

They are metadata, a few per table; the core reads them, on the driver, for both engines alike.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.types import StructType

from strandline import notification, schema_history
from strandline.change import Control
from strandline.connectors import Connector
from strandline.interpreter.decode import Decoder
from strandline.lake import SourceLake
from strandline.manifest import Manifest
from strandline.notification import Snapshot
from strandline.record import Coordinates, Record
from strandline.rules import TableRules
from strandline.schema_history import SchemaChange, SchemaHistory
from strandline_spark import delta, landing

EVENTS = (
    "topic STRING, topic_id STRING, partition INT, offset BIGINT, timestamp TIMESTAMP, "
    "value BINARY, run INT"
)
# Of the notices only those about whole snapshots: an incremental one sends one for every chunk.
_TELLING = (f'"{notification.INITIAL}"', '"tableChanges"')


@dataclass(frozen=True, slots=True)
class Told:
    """What is known after a run: the schema history, complete snapshots, of which some are new.

    `records` counts the control records of the run.
    """

    records: int
    history: SchemaHistory
    snapshots: Sequence[Snapshot]
    fresh: Sequence[Snapshot]


def told(spark: SparkSession, manifest: Manifest, connector: Connector) -> Told:
    """Reads the run's control records and keeps those that tell something."""
    lake = SourceLake(manifest.lake, manifest.source)
    count = 0
    if manifest.control:
        landed = landing.records(spark, lake.landing, manifest.landing_version, manifest.control)
        tells = _tells()
        found = landed.agg(F.count("*").alias("all"), F.count_if(tells).alias("telling")).first()
        count = found["all"]
        if found["telling"]:
            _keep(landed.where(tells), lake.control, manifest.number)
    if not delta.exists(spark, lake.control):
        return Told(count, SchemaHistory(), (), ())
    events = _told(delta.read(spark, lake.control), manifest.number)
    history = schema_history.history(_ddl(events), connector, _epoch(manifest))
    snapshots = _snapshots(events)
    earlier = _snapshots(e for e in events if e.run < manifest.number)
    return Told(count, history, snapshots, [s for s in snapshots if s not in earlier])


def _tells() -> Column:
    text = F.col("value").cast("string")
    return F.contains(text, F.lit(_TELLING[0])) | F.contains(text, F.lit(_TELLING[1]))


def _keep(telling: DataFrame, path: str, run: int) -> None:
    spark = telling.sparkSession
    delta.create(spark, path, StructType.fromDDL(EVENTS), [], {})
    names = ("topic", "topic_id", "partition", "offset", "timestamp", "value")
    delta.append(telling.select(*names, F.lit(run).alias("run")), path, run)


@dataclass(frozen=True, slots=True)
class _Event:
    """A control record that told something, and the run that kept it."""

    record: Record
    control: Control
    run: int


def _told(events: DataFrame, run: int) -> list[_Event]:
    """The events of all runs up to this one, in the order of their coordinates."""
    own = events.where((F.col("run") <= run) & _tells())
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


def _snapshots(events: Iterable[_Event]) -> list[Snapshot]:
    notices = (notification.notice(event.control.payload) for event in events)
    return notification.completed(n for n in notices if n is not None)
