"""Stages decode and position in columns; the twin of `strandline.law.decode.general`.

One pass over the landed bytes: every record gets a `_verdict` (change, fence, tombstone, control,
quarantined) and, if it is a change, its typed columns.

Every step names its results: an expression that stood in many places would be copied into all of
them, and planning would cost more than the work.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import reduce

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F
from pyspark.sql.types import StructType

from strandline.changes.change import Op
from strandline.changes.rules import TableRules
from strandline.law.decode.general import NEW_KEY, OLD_KEY, RUN_ID
from strandline_spark import documents
from strandline_spark.cells import Cells
from strandline_spark.connectors import Connector
from strandline_spark.envelopes import Envelopes, header, key_header, loosely, operation
from strandline_spark.keys import Keys
from strandline_spark.meta import Meta
from strandline_spark.shape import Shape
from strandline_spark.verdict import Judged, is_control, is_no_text, judge

_LANDED = ("topic", "topic_id", "partition", "offset", "timestamp", "key", "value", "headers")

Step = Mapping[str, Column] | Callable[[DataFrame], Mapping[str, Column]]


@dataclass(frozen=True, slots=True)
class Decoder:
    """Decodes the records of one batch of one table."""

    shape: Shape
    connector: Connector
    rules: TableRules
    run: int

    @property
    def _keys(self) -> Keys:
        return Keys(self.shape, self.connector, self.rules)

    def decode(self, records: DataFrame, flat: Sequence[int]) -> DataFrame:
        """`_verdict`, `_reason`, `_detail` and the columns of the changes table, per record.

        `_record` is the record as it was landed: no column of a table has a name of the engine's.

        `flat` are the schemas whose records ExtractNewRecordState made.
        """
        if not flat:
            return self._decoded(records, flat=False)
        is_flat = F.col("schema_id").isin(*flat)
        flattened = self._decoded(records.where(is_flat), flat=True)
        return flattened.unionByName(self._decoded(records.where(~is_flat), flat=False))

    def _decoded(self, records: DataFrame, *, flat: bool) -> DataFrame:
        cells = Cells(self.shape, self.connector, self.rules)
        meta = Meta(self.shape, self.connector, self.rules, self.run, flat)
        rows = reduce(_with, (*self._parsed(cells, flat=flat), *self._typed(cells)), records)
        judged = judge(
            rows,
            Judged(
                connector=self.connector.rules.accepts,
                keyless=self._keys.lacks("k"),
                rekeyed=self._keys.rekeyed(),
                named=bool(self.rules.key),
                cells=cells.unfit(rows.columns),
                flat=flat,
            ),
        )
        return judged.select(
            F.struct(*_LANDED).alias("_record"), "_verdict", "_reason", "_detail",
            *(cells.stored(name) for name in self.shape.names),
            *meta.columns(rows.columns),
        )  # fmt: skip

    def _parsed(self, cells: Cells, *, flat: bool) -> Sequence[Step]:
        """The documents of a record: envelope `v`, key `k`, the keys that headers name."""
        envelopes = Envelopes(self.shape, self.connector)
        keys = self._keys
        return (
            {
                "v": envelopes.row() if flat else envelopes.sent(),
                "k": keys.read(F.col("key_payload")),
                "new_text": key_header(NEW_KEY),
                "old_text": key_header(OLD_KEY),
                "run_id": header(RUN_ID),
            },
            {"v": documents.legible(F.col("v")), "k": keys.cells(F.col("k"), F.col("key_payload"))},
            *([{"v": envelopes.of_row()}] if flat else []),
            *([{"v": envelopes.described()}] if self.shape.lacking or self.shape.empty else []),
            {"exact": cells.exact(flat=flat), **keys.of_rows(flat=flat)},
            {
                "_op": operation(),
                "_major": F.lit("") if flat else self._major(),
                "_broken": F.col("v").isNull(),
                "_wrapped": cells.are_wrapped(),
                "new_payload": documents.split(F.col("new_text"))[1],
                "old_payload": documents.split(F.col("old_text"))[1],
            },
            {
                # What is asked of the texts is asked here: they go no further.
                "illegible": is_no_text("value_text"),
                "control": F.when(F.col("v.op").isNull(), is_control()),
                "loose": F.when(F.col("_broken"), loosely()),
                **cells.named(),
                "new_cells": keys.read(F.col("new_payload")),
                "old_cells": keys.read(F.col("old_payload")),
            },
            {
                f"{which}_cells": keys.other(F.col(f"{which}_cells"), F.col(f"{which}_payload"))
                for which in ("new", "old")
            },
        )

    def _major(self) -> Column:
        source = F.col("v.source")
        major, fence = self.connector.major(source), self.connector.fence(source)
        if fence is None:
            return major
        return F.when(operation() == Op.TRUNCATE.value, fence).otherwise(major)

    def _typed(self, cells: Cells) -> Sequence[Step]:
        """The cells of a record in their types, its key, and what tells its images apart."""
        keys = self._keys
        leaving = F.col("_op").isin(Op.DELETE.value, Op.TOMBSTONE.value)
        arriving = F.col("_op") == Op.CREATE.value
        return (
            lambda frame: cells.sent(_fields(frame, "exact")),
            cells.ready(),
            {
                "_key": keys.of_record(),
                "_moved_to": F.when(leaving, keys.canonical("new_cells", "new_payload")),
                "_moved_from": F.when(arriving, keys.canonical("old_cells", "old_payload")),
                "content:before": cells.content("v.before"),
                "content:after": cells.content("v.after"),
                **cells.typed(),
            },
        )


def _with(frame: DataFrame, step: Step) -> DataFrame:
    columns = step(frame) if callable(step) else step
    return frame.withColumns(dict(columns))


def _fields(frame: DataFrame, column: str) -> list[str]:
    of = frame.schema[column].dataType
    return of.names if isinstance(of, StructType) else []
