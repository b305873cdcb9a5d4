"""Differences from a snapshot of the source as changes of the table, which then go the way of all.

What the snapshot has is a read at the moment when it was taken, what it lacks an end. Both stand
directly behind everything that the key has shown, so that whatever arrives later is later. No
record was landed for them: in place of its coordinates they have `TOPIC` and the run.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, cast

from pyspark.sql import Column, DataFrame, Row
from pyspark.sql import functions as F
from pyspark.sql.types import BinaryType, DataType

from strandline.cells import casting
from strandline.changes.change import Op
from strandline.changes.position import Phase
from strandline.changes.record import Coordinates, Record
from strandline.changes.version import TimeQuality
from strandline.law import corrections as law
from strandline.runs.reconciliation import TOPIC
from strandline_spark import changes, delta
from strandline_spark.batch import Batch, Tally
from strandline_spark.distinct import is_placed, major, next_to
from strandline_spark.table import TableRun

if TYPE_CHECKING:
    from pyspark.sql.types import StructType

# Sorts behind every digit of a position, so behind all that stands there.
_BEHIND = "~"
_TIE = Phase.READ.value + "0" * 15
_EPOCH = "0000"  # the first lineage of the log
_APPLIED = -1  # of a change that every run has applied before
_TOLD = (
    "_key STRING, _op STRING, _seq STRING, _unset ARRAY<STRING>, _scope STRING, _time TIMESTAMP, "
    "_offset BIGINT, _cells MAP<STRING, STRING>"
)


@dataclass(frozen=True, slots=True)
class Corrected(TableRun):
    """A table's part of a run, whose changes are these instead of landed ones."""

    corrections: DataFrame | None = None

    def arrived(self) -> Batch:
        """Puts the corrections on record, unless an attempt before this one did."""
        path = self.lake.changes(self.cut.table)
        if self.corrections is not None and delta.applied(self.spark, path) < self.run:
            delta.append(self.corrections, path, self.run)
        count = delta.read(self.spark, path).where(F.col("_run") == self.run).count()
        return Batch(Tally(landed=count, changes=count), None)


def corrections(differences: DataFrame, run: TableRun, as_of: str) -> DataFrame:
    """The changes that set the differences right.

    `differences` have `_key, absent` (whether the snapshot lacks the row) and `cells`, a struct of
    what it says; a column that it does not have keeps its value.
    """
    moment = F.lit(as_of).cast("timestamp")
    history = delta.read(run.spark, run.lake.history(run.cut.table))
    stored = delta.read(run.spark, run.lake.changes(run.cut.table)).schema
    heads = history.where("_is_head").select("_key", "_seq_seen", "_scope")
    sent = cast("StructType", differences.schema["cells"].dataType).names
    rest = [name for name in stored.names if name not in (*changes.META, *sent)]
    known = {
        "_op": F.when(F.col("absent"), Op.ABSENT.value).otherwise(Op.READ.value),
        "_seq": _behind(F.coalesce("_seq_seen", "_newest")),
        "_unset": _names(rest),
        "_time": moment,
        "_offset": F.lit(run.run),
        "_run": F.lit(run.run),
    }
    cells = {name: F.when(~F.col("absent"), F.col("cells").getField(name)) for name in sent}
    found = differences.join(heads, "_key", "left").crossJoin(F.broadcast(_newest(history, moment)))
    return _changes(found, {**cells, **known}, stored)


def of_records(records: DataFrame, stored: "StructType") -> DataFrame | None:
    """The changes of the corrections that a table alone has on record; None where it has none.

    They count as applied before any run.
    """
    own = records.where(F.col("topic") == TOPIC).select("topic_id", "offset", "key", "value")
    places = {(row["topic_id"], row["offset"]): row for row in own.collect()}
    rows = [_told(row) for row in places.values()]
    if not rows:
        return None
    found = records.sparkSession.createDataFrame(rows, _TOLD)
    business = [field for field in stored if field.name not in changes.META]
    cells = {of.name: _cell(F.col("_cells")[of.name], of.dataType) for of in business}
    known = {name: F.col(name) for name in ("_op", "_seq", "_unset", "_time", "_offset")}
    return _changes(found, {**cells, **known, "_run": F.lit(_APPLIED)}, stored)


def _told(row: Row) -> tuple[object, ...]:
    """A correction on record, as `_TOLD` has it."""
    at = Coordinates(TOPIC, 0, row["offset"], row["topic_id"])
    change = law.read(Record(at, 0, bytes(row["key"]), bytes(row["value"])))
    cells = {name: casting.text(cell) for name, cell in (change.row or {}).items()}
    moment = change.time.best
    return (
        change.key, change.op.value, change.seq, sorted(change.unset), change.scope, moment,
        at.offset, cells,
    )  # fmt: skip


def _cell(text: Column, of: DataType) -> Column:
    return F.unbase64(text) if isinstance(of, BinaryType) else text.cast(of)


def _changes(found: DataFrame, columns: Mapping[str, Column], stored: "StructType") -> DataFrame:
    """Rows of the changes; `found` has `_key` and `_scope`, and what `columns` are made of."""
    meta = {
        "_key": F.col("_key"),
        "_position": F.concat(F.lit("reconciliation of run "), columns["_offset"]),
        "_link": F.lit(""),
        "_identity": F.xxhash64(F.lit(TOPIC), columns["_offset"].cast("int"), "_key"),
        "_unheld": _names([]),
        "_scope": F.col("_scope"),
        "_in_flight": F.lit(False),
        "_source_ts": columns["_time"],
        "_ts_quality": F.lit(TimeQuality.SNAPSHOT.value),
        "_topic": F.lit(TOPIC),
        "_topic_id": F.lit(TOPIC),
        "_partition": F.lit(0),
        "_kind": F.lit("row"),
        **columns,
    }
    return found.select(
        *(
            meta.get(field.name, F.lit(None)).cast(field.dataType).alias(field.name)
            for field in stored
        )
    )


def is_correction() -> Column:
    """Whether a change of a table is none that a record was landed for."""
    return F.col("_topic_id") == TOPIC


def _behind(seq: Column) -> Column:
    """A place directly behind that one; before everything where it is NULL.

    Where only offsets order (flattened records), before the next one.
    """
    first = F.lit(f"{_EPOCH}{_TIE}")
    behind = F.concat(major(seq), F.lit(_BEHIND + _TIE))
    return F.coalesce(F.when(is_placed(seq), behind).otherwise(next_to(seq)), first)


def _newest(history: DataFrame, moment: Column) -> DataFrame:
    """`_newest`: where the log stood at the moment, NULL where there is nothing that old."""
    begun = F.when(F.col("_valid_from") <= moment, F.col("_seq_from"))
    ended = F.when(F.col("_valid_to") <= moment, F.col("_seq_to"))
    return history.agg(F.greatest(F.max(begun), F.max(ended)).alias("_newest"))


def _names(names: Sequence[str]) -> Column:
    return F.array(*map(F.lit, names)).cast("array<string>")
