"""The Spark engine for `strandline history --engine spark`: real runs on a lake of their own.

The capture is landed and compacted in as many runs as asked for, in a temporary folder, by the same
code that a deployment runs.
"""

import tempfile
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

from pyspark.sql import DataFrame, Row, SparkSession
from pyspark.sql import functions as F

from strandline import connect
from strandline.change import Quarantined
from strandline.connectors import Connector
from strandline.engine import Outcome, cut, recorded_at
from strandline.errors import StrandlineError, Terminal, UndecodableError
from strandline.interpreter import total
from strandline.lake import SourceLake
from strandline.manifest import Manifest, OffsetRange, TableCut
from strandline.receipt import Counts, Receipt
from strandline.record import Coordinates, Record
from strandline.version import INTERNAL_COLUMNS
from strandline_spark import delta
from strandline_spark.compaction import SETTINGS, compact
from strandline_spark.session import local

_LANDING = (
    "topic string, topic_id string, partition int, offset bigint, timestamp timestamp, "
    "timestamp_type int, leader_epoch int, key binary, value binary, "
    "headers array<struct<key: string, value: binary>>, landed_date date"
)
_SOURCE = "capture"


def spark(records: Sequence[Record], *, batches: int, connector: Connector | None) -> Outcome:
    """Lands and compacts the records; `connector` None: the one that most records name."""
    with tempfile.TemporaryDirectory(prefix="strandline-") as folder:
        session = local("strandline history")
        session.sparkContext.setLogLevel("ERROR")
        for name, value in SETTINGS.items():
            session.conf.set(name, value)
        name = connector.names[0] if connector else _connector(records)
        lake = SourceLake(Path(folder).as_posix(), _SOURCE)
        receipts = list(runs(session, lake, name, records, batches))
        return Outcome(
            rows=list(_rows(session, lake, receipts)),
            quarantined=_quarantined(session, lake),
            counts=_counts(receipts),
        )


def runs(
    session: SparkSession, lake: SourceLake, connector: str, records: Sequence[Record], batches: int
) -> Iterator[Receipt]:
    """Lands and compacts the records in that many runs; raises where a table could not be applied."""
    moment = recorded_at(records)
    for number, batch in enumerate(cut(records, batches), 1):
        land(session, lake, batch, moment)
        receipt = compact(session, manifest(session, lake, connector, number, batch, moment))
        for table in receipt.tables:
            if table.error is not None:
                raise Terminal(f"{table.topic}: {table.error}")
        yield receipt


def land(
    session: SparkSession, lake: SourceLake, records: Iterable[Record], moment: datetime
) -> None:
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
            moment.date(),
        )
        for record in records
    ]
    frame = session.createDataFrame(rows, _LANDING).coalesce(1)
    frame.write.format("delta").mode("append").save(lake.landing)


def manifest(
    session: SparkSession,
    lake: SourceLake,
    connector: str,
    number: int,
    batch: Iterable[Record],
    moment: datetime,
) -> Manifest:
    """The manifest of a run that applies exactly these records.

    A capture may hold the offsets of a partition in any order, or twice: a range per record run.
    """
    ranges = defaultdict(list)
    for at in sorted({record.at for record in batch}, key=lambda a: (a.topic, a.partition, a.offset)):
        found = ranges[at.topic]
        if found and found[-1].partition == at.partition and found[-1].end == at.offset:
            found[-1] = replace(found[-1], end=at.offset + 1)
        else:
            found.append(OffsetRange(at.topic, at.topic, at.partition, at.offset, at.offset + 1))
    return Manifest(
        source=lake.source,
        connector=connector,
        lake=lake.root,
        number=number,
        planned_at=moment.isoformat(),
        landing_version=delta.version(session, lake.landing),
        tables=tuple(TableCut(topic, topic, tuple(found)) for topic, found in ranges.items()),
    )


def _connector(records: Iterable[Record]) -> str:
    """The connector that the first readable envelope names."""
    for record in records:
        try:
            payload = connect.parse(record.value or b"null", "value").payload
        except UndecodableError:
            continue
        source = payload.get("source") if isinstance(payload, dict) else None
        if isinstance(source, dict) and "op" in payload and source.get("connector"):
            return str(source["connector"])
    raise StrandlineError("no record of the capture names its connector: give a --spec")


def _rows(
    session: SparkSession, lake: SourceLake, receipts: Iterable[Receipt]
) -> Iterator[tuple[str, Mapping[str, object]]]:
    topics = {table.topic for receipt in receipts for table in receipt.tables if table.changed}
    internal = [name for name, _ in INTERNAL_COLUMNS]
    for topic in sorted(topics):
        history = delta.read(session, lake.history(topic)).orderBy("_key", "_seq_from")
        for row in history.drop(*internal).toLocalIterator():
            yield topic, _cells(history, row)


def _cells(history: DataFrame, row: Row) -> Mapping[str, object]:
    """Spark hands instants over as naive local times of the driver; they are UTC instants."""
    instants = {name for name, kind in history.dtypes if kind == "timestamp"}
    return {
        name: value.astimezone(UTC) if name in instants and value is not None else value
        for name, value in row.asDict().items()
    }


def _quarantined(session: SparkSession, lake: SourceLake) -> list[Quarantined]:
    found = delta.read(session, lake.quarantine).orderBy("topic", "partition", "offset")
    return [
        Quarantined(
            Coordinates(row["topic"], row["partition"], row["offset"]), row["reason"], row["detail"]
        )
        for row in found.select(
            "topic", "partition", "offset", "reason", F.coalesce("detail", F.lit("")).alias("detail")
        ).toLocalIterator()
    ]


def _counts(receipts: Sequence[Receipt]) -> Counts:
    """Law 6 over all runs; rows as they stand after the last."""
    tables = [table for receipt in receipts for table in receipt.tables]
    last = {table.topic: table.counts for table in tables}
    summed = total(table.counts for table in tables)
    return replace(
        summed,
        history_rows=sum(counts.history_rows for counts in last.values()),
        current_rows=sum(counts.current_rows for counts in last.values()),
    )
