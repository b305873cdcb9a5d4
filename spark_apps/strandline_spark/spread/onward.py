"""Keys that go on from their last versions, in Spark's tasks: see `strandline.law.onward`."""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, fields
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F
from pyspark.sql.types import StructType

from strandline.alone.stores import heads, history
from strandline.alone.stores.datafiles import Target, Writers
from strandline.cells.types import ColumnType
from strandline.changes.columns import IS_CURRENT, IS_HEAD, KEY, SEQ_FROM
from strandline.law.facts import Facts
from strandline.law.onward import Piece, Runner
from strandline.law.plain.continued import Heads, Onward
from strandline.law.plain.transit import Transit
from strandline.law.shard import Known, Told
from strandline.law.versions import FIELDS
from strandline.runs.receipt import Counts
from strandline_spark import delta
from strandline_spark.checkpoint import kept
from strandline_spark.delta import quoted
from strandline_spark.single import single
from strandline_spark.spread.filing import Files, Filing
from strandline_spark.spread.folding import history_schema
from strandline_spark.spread.groups import Touched
from strandline_spark.spread.replacement import GONE, Replacement, remembered
from strandline_spark.spread.rows import GROUP, pieces, uncollected
from strandline_spark.spread.telling import Telling

# What is told of a key beside its versions, on the last of them, or on a row without a version.
LEFT, STOOD, WAS_OPEN, CHANGES, ABSORBED, SAME = (
    "_left", "_stood", "_was_open", "_changes", "_absorbed", "_same",
)  # fmt: skip
_EXTRA = (LEFT, STOOD, WAS_OPEN, CHANGES, ABSORBED, SAME)
_TYPES = ("boolean", "string", "boolean", "int", "int", "boolean")
_TOLD = ", ".join(f"{name} {of}" for name, of in zip(_EXTRA, _TYPES, strict=True))
_HEAD = "head"


@dataclass(frozen=True, slots=True)
class Went:
    """What became of keys that could go on: what they sum up to (`_sums`), and their `rows`, kept.

    Where tasks have written the versions to `files`, rows are only of keys that have none.
    """

    rows: DataFrame
    sums: Mapping[str, int]
    files: Files = ()

    @property
    def left(self) -> DataFrame | None:
        """`name` of the keys that could not; None: there are none."""
        if not self.sums["left"]:
            return None
        return self.rows.where(LEFT).select(F.col(KEY).alias("name"))

    def without(self, keys: Touched) -> "Went":
        """Only keys that are none of these, which have been derived."""
        names = keys.names.withColumnRenamed("name", KEY)
        names = F.broadcast(names) if keys.is_few else names
        rows = self.rows.where(f"NOT {LEFT}").join(names, KEY, "left_anti")
        return Went(rows, single(rows.agg(*_sums())).asDict())

    def remembered(self, forgotten: str | None) -> "Went":
        """Without versions that ended before retention's moment, in whose place none comes."""
        if forgotten is None:
            return self
        rows = remembered(self.rows, forgotten)
        sums = single(rows.agg(*_sums())).asDict()
        return Went(rows, {**sums, "alone": self.sums["made"] - sums["made"]})

    @property
    def told(self) -> Told:
        """What the keys tell of their table."""
        changes, absorbed = self.sums["changes"], self.sums["absorbed"]
        counts = Counts(changes + absorbed, changes, 0, absorbed)
        return Told(counts, facts=Facts(unseen=bool(self.sums["bare"])))

    @property
    def replacement(self) -> Replacement:
        """What they change in the history: each last version goes, for what takes its place."""
        versions = self.rows.where(F.col(SEQ_FROM).isNotNull())
        come = versions.drop(*_EXTRA).withColumn(GONE, F.lit(False))
        heads = self.rows.where(F.col(STOOD).isNotNull())
        gone = heads.select(KEY, F.col(STOOD).alias(SEQ_FROM), F.lit(True).alias(GONE))
        sums = self.sums
        rows = come.unionByName(gone, allowMissingColumns=True) if sums["stood"] else come
        return Replacement(
            rows,
            come=sums["come"],
            gone=sums["gone"],
            made=sums["made"],
            open=sums["open"],
            stood=sums["stood"],
            stood_open=sums["stood_open"],
            going=sums["stood"],
            alone=sums.get("alone", 0),
            heads=sums["stood"],
        )


def _sums() -> list[Column]:
    version, stood = F.col(SEQ_FROM).isNotNull(), F.col(STOOD).isNotNull()
    return [
        F.count_if(LEFT).alias("left"),
        F.coalesce(F.sum(CHANGES), F.lit(0)).alias("changes"),
        F.coalesce(F.sum(ABSORBED), F.lit(0)).alias("absorbed"),
        F.count_if(~version & ~F.col(LEFT)).alias("bare"),
        F.count_if(version).alias("made"),
        F.count_if(version & F.col(IS_CURRENT)).alias("open"),
        F.count_if(version & ~F.col(SAME)).alias("come"),
        F.count_if(stood).alias("stood"),
        F.count_if(stood & F.col(WAS_OPEN)).alias("stood_open"),
        F.count_if(stood & ~F.col(SAME)).alias("gone"),
    ]


def goes_on(  # noqa: PLR0913, PLR0917 - what a task is given
    records: DataFrame,
    heads: DataFrame | None,
    now: Known,
    since: str | None,
    tasks: int,
    target: Target | None,
) -> Went:
    """Folds records that are on their way onto the heads of a history; None: there is none yet.

    `target`: where tasks write the versions, where they are not rows.
    """
    columns, own = now.view.columns, records
    if heads is not None:
        row = F.struct(*(F.col(quoted(name)) for name in heads.columns)).alias(_HEAD)
        own = own.unionByName(heads.select(F.col(KEY).alias(GROUP), row), allowMissingColumns=True)
    order = [GROUP, "topic_id", "partition", "offset"]
    ordered = own.repartition(tasks, GROUP).sortWithinPartitions(*order)
    schema = StructType([*history_schema(columns).fields, *delta.schema(_TOLD).fields])
    spark = records.sparkSession
    sums = Telling.of(spark, Counter[str]())
    filing = None if target is None else Filing.of(spark, target)
    task = _Going(now, since, columns, sums.tell, filing)
    rows = kept(ordered.mapInArrow(task, schema))
    return Went(rows, sums.told, () if filing is None else filing.files)


@dataclass(frozen=True, slots=True)
class _Going:
    known: Known
    since: str | None
    columns: Mapping[str, ColumnType]
    tell: Callable[[int, Counter[str]], None]
    filing: Filing | None

    def __call__(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        with uncollected():
            yield from self._each(batches)

    def _each(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        runner = Runner.of(self.known, self.since)
        writers = None if self.filing is None else Writers(self.filing.target, IS_HEAD)
        sums = Counter[str]()
        for made in runner.run(self._pieces(batches)):
            sums += _summed(made)
            if writers is None:
                yield from self._told(made).to_batches()
            else:
                writers.write(self._versions(made))
            yield from self._bare(made).to_batches()
        self.tell(0, sums)
        if writers is not None and self.filing is not None:
            self.filing.tell(tuple(writers.close()))

    def _pieces(self, batches: Iterable[pa.RecordBatch]) -> Iterator[Piece]:
        for rows, goes_on in pieces(batches):
            records = rows
            if _HEAD in rows.column_names:
                records = rows.filter(pc.is_valid(rows["topic_id"]))
            columns = (records[of.name].to_pylist() for of in fields(Transit))
            yield Piece(self._heads(rows), Transit(*columns), records[GROUP].to_pylist(), goes_on)

    def _heads(self, rows: pa.Table) -> Heads:
        """The heads among the rows."""
        if _HEAD not in rows.column_names:
            return Heads({name: [] for name in FIELDS}, [], [], [])
        of = rows.filter(pc.is_null(rows["topic_id"]))[_HEAD].combine_chunks()
        row = pa.table(of.flatten(), [of.type.field(n).name for n in range(of.type.num_fields)])
        return heads.of_rows(row, self.columns)

    def _versions(self, made: Onward) -> pa.Table:
        return history.gone_on(made, self.columns, self.known.making.topic, self.known.moment)

    def _told(self, made: Onward) -> pa.Table:
        """The versions, the last of each key with what is told of the key."""
        table = self._versions(made)
        number = {key: n for n, key in enumerate(made.keys)}
        of = [
            number[key] if last else None
            for key, last in zip(made.fields["key"], made.is_last, strict=True)
        ]
        same = [each is not None for each in made.recorded]
        return _with_told(table, [False] * len(of), of, made, same)

    def _bare(self, made: Onward) -> pa.Table:
        """A row for each key that is left, and for each that has no version."""
        having = set(made.fields["key"])
        none = [n for n, key in enumerate(made.keys) if key not in having]
        left = sorted(made.left)
        keys = [*(made.keys[n] for n in none), *left]
        table = history.empty(keys, self.columns)
        is_left = [False] * len(none) + [True] * len(left)
        return _with_told(table, is_left, [*none, *[None] * len(left)], made, [False] * len(keys))


def _summed(made: Onward) -> Counter[str]:
    """What `_sums` are of rows."""
    ends = made.fields["seq_to"]
    same = [recorded is not None for recorded in made.recorded]
    having = set(made.fields["key"])
    stood = [each is not None for each in made.stood]
    return Counter(
        left=len(made.left),
        changes=sum(made.changes),
        absorbed=sum(made.absorbed),
        bare=sum(key not in having for key in made.keys),
        made=len(ends),
        open=ends.count(None),
        come=same.count(False),
        stood=sum(stood),
        stood_open=sum(made.was_open),
        gone=sum(stood) - sum(same),
    )


def _with_told(
    table: pa.Table,
    left: list[bool],
    of: list[int | None],
    made: Onward,
    same: list[bool],
) -> pa.Table:
    columns: dict[str, tuple[list[Any], pa.DataType]] = {
        LEFT: (left, pa.bool_()),
        STOOD: ([None if n is None else made.stood[n] for n in of], pa.string()),
        WAS_OPEN: ([None if n is None else made.was_open[n] for n in of], pa.bool_()),
        CHANGES: ([None if n is None else made.changes[n] for n in of], pa.int32()),
        ABSORBED: ([None if n is None else made.absorbed[n] for n in of], pa.int32()),
        SAME: (same, pa.bool_()),
    }
    for name, (own, kind) in columns.items():
        table = table.append_column(name, pa.array(own, kind))
    return table
