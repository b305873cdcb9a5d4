"""The pipeline: for each table a view that decodes its landed records, and a history made of it.

Spark imports this file from a copy in the pipeline's folder, with `told.json` beside it.
"""

import json
from pathlib import Path

from pyspark import pipelines as dp
from pyspark.sql import DataFrame
from pyspark.sql import functions as F

LANDED = "topic STRING, partition INT, offset BIGINT, value BINARY"
TOLD = json.loads(Path("told.json").read_text())


def changes(topic: str) -> DataFrame:
    """The landed records of a topic, decoded as the other contenders in Spark decode them."""
    stream = spark.readStream  # noqa: F821 - who imports this file puts it here
    landed = stream.schema(LANDED).parquet(TOLD["source"])
    records = landed.where((F.col("topic") == topic) & F.col("value").isNotNull())
    parsed = F.from_json(F.col("value").cast("string"), TOLD["envelope"])
    event = F.col("event.payload") if TOLD["wrapped"] else F.col("event")
    key, *others = TOLD["columns"]
    return (
        records.select(parsed.alias("event"))
        .select(
            F.coalesce(event["after"][key], event["before"][key]).alias(key),
            *(event["after"][name].alias(name) for name in others),
            (event["op"] == "d").alias("deleted"),
            F.struct(event["source"]["ts_us"], event["source"]["lsn"]).alias("place"),
        )
        .where(F.col(key).isNotNull())  # a truncate has none, and AUTO CDC no word for it
    )


def define(table: str, topic: str) -> None:
    """Declares one table's view, target and flow."""
    view = f"changes_of_{table}"
    dp.temporary_view(name=view)(lambda: changes(topic))
    dp.create_streaming_table(table)
    dp.create_auto_cdc_flow(
        target=table,
        source=view,
        keys=TOLD["columns"][:1],
        sequence_by=F.col("place"),
        apply_as_deletes=F.col("deleted"),
        column_list=TOLD["columns"],
        stored_as_scd_type=2,
    )


for each, of in TOLD["topics"].items():
    define(each, of)
