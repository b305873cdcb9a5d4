"""Documents in columns: the envelope of a record, as every connector and transform writes it.

What is read is narrow: it names only the fields that are used, and hands cells over as text.
"""

from dataclasses import dataclass

from pyspark.sql import Column
from pyspark.sql import functions as F

from strandline.changes.change import SENT, Op
from strandline.formats import connect, flattened
from strandline_spark import documents
from strandline_spark.changes import quoted
from strandline_spark.connectors import Connector
from strandline_spark.shape import Shape
from strandline_spark.values import STRICT

_SOURCE = ("connector", "version", "name", "snapshot", "ts_ms", "ts_us", "db", "schema", "table")


@dataclass(frozen=True, slots=True)
class Envelopes:
    """The envelopes of one batch of one table."""

    shape: Shape
    connector: Connector

    def sent(self) -> Column:
        """What the value says, its cells as text."""
        row = ", ".join(f"{quoted(name)}: STRING" for name in self.shape.sent)
        image = f"STRUCT<{row}>" if row else "STRING"
        source = ", ".join(f"{quoted(field)}: STRING" for field in self._source_fields())
        of = (
            f"before {image}, after {image}, op STRING, ts_ms STRING, "
            "transaction STRUCT<id: STRING, total_order: STRING>, "
            f"source STRUCT<{source}>"
        )
        return documents.read(F.col("value_payload"), of)

    def row(self) -> Column:
        """The row that ExtractNewRecordState made of a value, its cells as text."""
        own = [flattened.DELETED, flattened.OP, flattened.EMITTED]
        told = [
            prefix + field
            for field in self._source_fields()
            for prefix in (flattened.SOURCE, flattened.PREFIX)
        ]
        names = dict.fromkeys([*self.shape.sent, *own, *told])
        fields = ", ".join(f"{quoted(name)}: STRING" for name in names)
        return documents.read(F.col("value_payload"), fields)

    def of_row(self) -> Column:
        """The envelope that the row once had, as far as it can be known."""
        row = F.col("v")
        names = self.shape.sent
        cells = F.struct(*(row.getField(n).alias(n) for n in names)) if names else F.lit("")
        deleted = F.coalesce(F.lower(row[flattened.DELETED]) == "true", F.lit(False))
        moved = F.when(F.col("old_text").isNotNull(), "c").otherwise(flattened.STANDS)
        source = F.struct(
            *(
                F.coalesce(
                    row[flattened.SOURCE + field],
                    F.lit(None) if field in flattened.PROCESSED else row[flattened.PREFIX + field],
                ).alias(field)
                for field in self._source_fields()
            )
        )
        nothing = F.lit(None).cast("string")
        return F.when(
            row.isNotNull(),
            F.struct(
                F.when(deleted, cells).alias("before"),
                F.when(~deleted, cells).alias("after"),
                F.when(deleted, "d").otherwise(F.coalesce(row[flattened.OP], moved)).alias("op"),
                row[flattened.EMITTED].alias("ts_ms"),
                F.struct(nothing.alias("id"), nothing.alias("total_order")).alias("transaction"),
                source.alias("source"),
            ),
        )

    def described(self) -> Column:
        """The envelope with images that hold only what the record's own schema describes.

        JsonConverter reads no other fields, and no row where none is described.
        """
        v = F.col("v")
        return v.withField("before", self._described(v["before"])).withField(
            "after", self._described(v["after"])
        )

    def _described(self, row: Column) -> Column:
        shape, number = self.shape, F.col("schema_id")
        fields = [
            F.when(~number.isin(*shape.lacking.get(name, ())), row[name]).alias(name)
            for name in shape.sent
        ]
        is_row = row.isNotNull() & ~number.isin(*shape.empty)
        return F.when(is_row, F.struct(*fields) if fields else row)

    def _source_fields(self) -> list[str]:
        return list(dict.fromkeys((*_SOURCE, *self.connector.fields)))


def header(name: str) -> Column:
    """The text of the last header of that name."""
    headers = F.col("headers")
    from_behind = F.array_position(F.reverse(headers["key"]), name).cast("int")  # 0: there is none
    found = F.try_element_at(headers, -from_behind)
    return F.when(from_behind > 0, found["value"].cast("string"))


def key_header(name: str) -> Column:
    """The same of one that holds a key; the twin of `connect.parse_header`."""
    text = escaped = header(name)
    for letter, spelt in connect.UNESCAPED.items():
        escaped = F.replace(escaped, F.lit(letter), F.lit(spelt))
    return F.when(F.try_parse_json(text).isNull(), escaped).otherwise(text)


def operation() -> Column:
    """The operation; a create that a snapshot sent is a read, a missing value a tombstone.

    NULL where the event is of no row, or says what none does.
    """
    op = F.col("v.op")
    read = (op == Op.CREATE.value) & is_of_snapshot()
    gone = F.col("value").isNull() | (F.trim("value_payload") == "null")
    return (
        F.when(gone, Op.TOMBSTONE.value).when(read, Op.READ.value).when(op.isin(*sorted(SENT)), op)
    )


def is_of_snapshot() -> Column:
    """Whether a snapshot sent the record."""
    return ~F.coalesce(F.col("v.source.snapshot"), F.lit("false")).isin("false", "null")


def loosely() -> Column:
    """A value that is no envelope, read part by part to say which part is wrong.

    `more`: a schema stands beside the payload, and something else; `valid`: the payload is JSON.
    """
    payload = F.col("value_payload")
    parts = "op STRING, source STRING, after STRING, before STRING, _corrupt STRING"
    alone = F.try_parse_json(F.concat(F.lit("["), payload, F.lit("]")))
    return F.struct(
        F.from_json(payload, parts, STRICT).alias("parts"),
        F.coalesce(F.size(alone.cast("array<variant>")) == 1, F.lit(False)).alias("valid"),
        (F.col("value_schema").isNotNull() & documents.has_more(F.col("value_text"))).alias("more"),
    )
