"""Splits what JsonConverter wrote into schema and payload, and reads the few distinct schemas.

A schema is text that repeats in every record; it is cut off unparsed and only its distinct texts,
a handful per table and run, come to the driver.
"""

import json
from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from strandline import flattened

_PREFIX = '{"schema":{'
# Inside a schema a quote is always escaped, so these letters can only be the field itself.
_PAYLOAD = ',"payload":'
_ENVELOPED = r'^\s*\{\s*"(schema|payload)"\s*:'


@dataclass(frozen=True, slots=True)
class SchemaPair:
    """The embedded schemas of a record's value and key; None where there was none.

    `flat`: the value is a row that ExtractNewRecordState made, no envelope. `bare`: some records
    have a value or a key, and no schema for it; `row_names` are the fields that such rows have,
    `key_names` those of such keys in the order of one of them.
    """

    value: dict[str, Any] | None
    key: dict[str, Any] | None
    flat: bool
    bare: bool
    row_names: frozenset[str] = frozenset()
    key_names: tuple[str, ...] = ()


def split(text: Column) -> tuple[Column, Column]:
    """(schema, payload) as JSON text; schema NULL where none is embedded.

    The usual layout is cut; any other (white space, payload first) is parsed.
    """
    at = F.instr(text, _PAYLOAD)
    usual = text.startswith(_PREFIX) & (at > 0) & text.endswith("}")
    other = text.rlike(_ENVELOPED)
    schema = F.when(usual, text.substr(F.lit(len('{"schema":') + 1), at - len('{"schema":') - 1))
    schema = schema.when(other, F.get_json_object(text, "$.schema"))
    start = at + len(_PAYLOAD)
    payload = F.when(usual, text.substr(start, F.length(text) - start))
    # A JSON null at $.payload reads as SQL NULL: it is the payload of a tombstone.
    parsed = F.coalesce(F.get_json_object(text, "$.payload"), F.lit("null"))
    return schema, payload.when(other, parsed).otherwise(text)


def parsed(landed: DataFrame, flattened: Mapping[str, bool]) -> DataFrame:
    """Landed records with texts and schemas split off; still one row per record.

    `flattened` says of some topics whether ExtractNewRecordState made their records.
    """
    texts = landed.withColumns(
        {"value_text": F.col("value").cast("string"), "key_text": F.col("key").cast("string")}
    )
    value_schema, value_payload = split(F.col("value_text"))
    key_schema, key_payload = split(F.col("key_text"))
    parts = texts.withColumns(
        {
            "value_schema": value_schema,
            "value_payload": value_payload,
            "key_schema": key_schema,
            "key_payload": key_payload,
        }
    )
    marked = _is_marked(F.col("value_payload"), F.col("value_schema"))
    for topic, told in flattened.items():
        marked = F.when(F.col("topic") == topic, F.lit(told)).otherwise(marked)
    return parts.withColumn("marked", marked).withColumn(
        "schema_id",
        _schema_id(F.col("value_schema"), F.col("key_schema"), F.col("marked")),
    )


def distinct_schemas(records: DataFrame) -> Mapping[str, Mapping[int, SchemaPair]]:
    """The schemas of each topic's parsed records by `schema_id`, oldest record first.

    Schemas are metadata: there are as many as the tables had shapes.
    """
    bare = F.col("value_schema").isNull() & _says(F.col("value_payload"))
    bare_key = F.col("key_schema").isNull() & _says(F.col("key_payload"))
    found = (
        records.groupBy("topic", "schema_id")
        .agg(
            F.first("value_schema").alias("value"),
            F.first("key_schema").alias("key"),
            F.first("marked").alias("marked"),
            F.bool_or(bare).alias("bare"),
            F.bool_or(bare_key).alias("bare_key"),
            # Sets of arrays also let Spark hash the groups, where it would sort all records.
            F.collect_set(F.json_object_keys(row_document())).alias("row_names"),
            F.first(F.json_object_keys(key_document()), ignorenulls=True).alias("key_names"),
            F.min(F.struct("partition", "offset")).alias("first"),
        )
        .orderBy("first")
    )
    schemas: dict[str, dict[int, SchemaPair]] = defaultdict(dict)
    for row in found.toLocalIterator():
        schemas[row["topic"]][row["schema_id"]] = _pair(row)
    return schemas


def _pair(row: Any) -> SchemaPair:
    value = _parsed(row["value"])
    flat = row["marked"] or flattened.describes_row(value)
    return SchemaPair(
        value,
        _parsed(row["key"]),
        flat,
        row["bare"] or row["bare_key"],
        frozenset(name for names in row["row_names"] for name in names),
        tuple(row["key_names"] or ()),
    )


def row_document() -> Column:
    """The row of a parsed record whose value has no schema, as JSON text; a deleted one also."""
    payload = F.col("value_payload")
    images = (F.get_json_object(payload, f"$.{image}") for image in ("after", "before"))
    row = F.when(F.col("marked"), payload).otherwise(F.coalesce(*images))
    return F.when(F.col("value_schema").isNull(), row)


def key_document() -> Column:
    """The key of a parsed record whose key has no schema, as JSON text."""
    return F.when(F.col("key_schema").isNull(), F.col("key_payload"))


def _says(payload: Column) -> Column:
    """False for a tombstone, whichever way it is written."""
    return F.coalesce(F.trim(payload) != "null", F.lit(False))


def _schema_id(value_schema: Column, key_schema: Column, marked: Column) -> Column:
    """A number for the shape of a record: its pair of schemas; missing ones count as empty."""
    return F.xxhash64(
        F.coalesce(value_schema, F.lit("")), F.coalesce(key_schema, F.lit("")), marked
    )


def _is_marked(payload: Column, schema: Column) -> Column:
    """True for a record without schema that bears the metadata of a flattened row."""
    named = "|".join(mark.removeprefix(flattened.PREFIX) for mark in flattened.MARKS)
    named_so = payload.contains(f'"{flattened.PREFIX}')  # soon told, and mostly not so
    suspect = schema.isNull() & named_so & payload.rlike(rf'"{flattened.PREFIX}({named})"\s*:')
    envelope = (
        F.get_json_object(payload, "$.op").isNotNull()
        & F.get_json_object(payload, "$.source").isNotNull()
    )
    return F.coalesce(F.when(suspect, ~envelope), F.lit(False))


def _parsed(text: str | None) -> dict[str, Any] | None:
    if text is None:
        return None
    try:
        schema = json.loads(text)
    except ValueError:
        return None
    return schema if isinstance(schema, dict) else None
