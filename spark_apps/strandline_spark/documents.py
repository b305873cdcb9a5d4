"""Splits what JsonConverter wrote into schema and payload, and reads the few distinct schemas.

A schema is text that repeats in every record; it is cut off unparsed and only its distinct texts,
a handful per table and run, come to the driver.
"""

import json
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from hashlib import sha256
from typing import Any

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from strandline.changes.change import Op
from strandline.formats import connect, flattened
from strandline_spark.shallow import once
from strandline_spark.values import STRICT

# What Connect calls a schema begins with its type; a column of that name may be an object, too.
_PREFIX = '{"schema":{"type":'
_UNDESCRIBED = '{"schema":null,"payload":'
# Inside a schema a quote is always escaped, so these letters can only be the field itself.
_PAYLOAD = ',"payload":'
_PART = '"payload"'  # behind the first: a column of the row, or a second payload
_OBJECT = r"^\s*\{"  # anything else is no row, and would say of the rows that they are none
_ROW_OPS = (Op.CREATE.value, Op.UPDATE.value, Op.READ.value, Op.DELETE.value)
_BESIDE = ("document", "ended")
_BROKEN = object()  # a schema, as far as one can tell, but no JSON
_ENVELOPED = r'^\s*\{\s*"(schema|payload)"\s*:'


@dataclass(frozen=True, slots=True)
class SchemaPair:
    """The embedded schemas of a record's value and key; None where there was none.

    `flat`: the value is a row that ExtractNewRecordState made, no envelope. `bare`: some records
    have a value or a key, and no schema for it; `row_names` are the fields that such rows have,
    `key_names` those of such keys in the order of one of them, `key_forms` all that they have.
    `broken` are the parts (`value`, `key`) whose schema is no JSON.
    """

    value: dict[str, Any] | None
    key: dict[str, Any] | None
    flat: bool
    bare: bool
    row_names: frozenset[str] = frozenset()
    key_names: tuple[str, ...] = ()
    key_forms: frozenset[tuple[str, ...]] = frozenset()
    broken: frozenset[str] = frozenset()


def split(text: Column) -> tuple[Column, Column]:
    """(schema, payload) as JSON text; schema NULL where none is embedded.

    Usual layouts are cut, as Spark's parser loses digits; any other (white space, payload first)
    is parsed. There is no payload where that is no JSON, and where a part stands twice; where a
    third part follows it, it is none that `legible` takes.
    """
    begins = text.startswith(_PREFIX)
    at = F.when(begins, F.instr(text, _PAYLOAD))  # a search through all of a text that has none
    usual = begins & (at > 0) & text.endswith("}")
    start = at + len(_PAYLOAD)
    cut = text.substr(start, F.length(text) - start)
    names = F.json_object_keys(text)
    once = F.size(F.filter(names, lambda name: name.isin(*connect.WRAPPER))) == len(connect.WRAPPER)
    both = F.array(*map(F.lit, sorted(connect.WRAPPER)))
    wrapped = (F.array_sort(F.array_distinct(names)) == both) & _describes(text)
    other = text.rlike(_ENVELOPED)
    # The last word may be cut off behind a payload that is whole, or another may follow.
    alone = F.size(F.json_object_keys(_beside(text))) == len(_BESIDE)
    schema = F.when(usual, text.substr(F.lit(len('{"schema":') + 1), at - len('{"schema":') - 1))
    schema = schema.when(other & wrapped, F.get_json_object(text, "$.schema"))
    # A JSON null at $.payload reads as SQL NULL: it is the payload of a tombstone.
    parsed = F.coalesce(F.get_json_object(text, "$.payload"), F.lit("null"))
    undescribed = text.startswith(_UNDESCRIBED) & text.endswith("}")
    behind = text.substr(F.lit(len(_UNDESCRIBED) + 1), F.length(text) - len(_UNDESCRIBED) - 1)
    parsed = F.when(undescribed, behind).otherwise(parsed)
    payload = F.when(usual & cut.contains(_PART), F.when(once, cut)).when(usual, cut)
    inside = F.when(~wrapped, text).when(once, parsed)
    return schema, payload.when(other, F.when(alone, inside)).otherwise(text)


def _describes(text: Column) -> Column:
    """Whether the field called schema may be one: an object, or null."""
    schema = F.from_json(text, "schema VARIANT")["schema"]
    return F.coalesce(F.schema_of_variant(schema).rlike("^(OBJECT|VOID)"), F.lit(True))


def has_more(text: Column) -> Column:
    """Whether a whole document has more fields than a schema and a payload."""
    many = F.size(F.array_distinct(F.json_object_keys(text))) > len(connect.WRAPPER)
    return F.coalesce(
        many & (F.size(F.json_object_keys(_beside(text))) == len(_BESIDE)), F.lit(False)
    )


def read(text: Column, fields: str) -> Column:
    """A document's fields, read strictly, for `legible` to take.

    A second part that is missing says that the document ended before its text did. The brackets of
    an array let nothing but a document stand in them.
    """
    document, ended = _BESIDE
    of = f"{document} ARRAY<STRUCT<{fields}>>, {ended} STRING, _corrupt STRING"
    return F.from_json(_beside(F.concat(F.lit("["), text, F.lit("]"))), of, STRICT)


def _beside(text: Column) -> Column:
    """The document as the first part of another: Spark's readers ignore what follows the last."""
    document, ended = _BESIDE
    return F.concat(F.lit(f'{{"{document}":'), text, F.lit(f',"{ended}":1}}'))


def legible(read: Column) -> Column:
    """The fields of a document that was read; NULL where it is none, or not of that form."""
    document, ended = _BESIDE
    whole = read[ended].isNotNull() & read["_corrupt"].isNull() & (F.size(read[document]) == 1)
    return F.when(whole, F.get(read[document], F.lit(0)))


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
    # Each is used twice, so that generated code computes it before the groups are made: what is
    # collected would be interpreted, and a document parsed for each mention in it.
    named = records.withColumn("names", row_names())
    # A value has to be read to its end for the names of its row.
    named = named.withColumn("key_form", _key_form(F.col("names").isNotNull() | _is_whole()))
    found = (
        named.groupBy("topic", "schema_id")
        .agg(
            F.count("names").alias("rows"),
            F.first("value_schema").alias("value"),
            F.first("key_schema").alias("key"),
            F.first("marked").alias("marked"),
            F.bool_or(bare).alias("bare"),
            F.bool_or(bare_key).alias("bare_key"),
            # Sets of arrays also let Spark hash the groups, where it would sort all records.
            F.collect_set("names").alias("row_names"),
            F.first("key_form", ignorenulls=True).alias("key_names"),
            F.collect_set("key_form").alias("key_forms"),
            F.min(F.struct("partition", "offset")).alias("first"),
        )
        .withColumns({f"legible_{of}": F.is_valid_utf8(of) for of in ("value", "key")})
    )
    schemas: dict[str, dict[int, SchemaPair]] = defaultdict(dict)
    for row in sorted(found.collect(), key=lambda row: row["first"]):
        schemas[row["topic"]][row["schema_id"]] = _pair(row)
    return schemas


def _pair(row: Any) -> SchemaPair:
    parts = {part: _parsed(row[part], legible=row[f"legible_{part}"]) for part in ("value", "key")}
    value, key = (schema if isinstance(schema, dict) else None for schema in parts.values())
    told = row["marked"]
    flat = told if told is not None else flattened.describes_row(value or {})
    return SchemaPair(
        value,
        key,
        flat,
        row["bare"] or row["bare_key"],
        frozenset(name for names in row["row_names"] for name in names),
        tuple(row["key_names"] or ()),
        frozenset(map(tuple, row["key_forms"])),
        frozenset(part for part, schema in parts.items() if schema is _BROKEN),
    )


def by_key_form(
    records: DataFrame, schemas: Mapping[int, SchemaPair]
) -> tuple[DataFrame, Mapping[int, SchemaPair]]:
    """Tells records apart whose keys have no schema, and not the same columns in one order."""
    if all(len(pair.key_forms) < 2 for pair in schemas.values()):
        return records, schemas
    found, number = {}, F.col("schema_id")
    for same, pair in schemas.items():
        found[same] = pair
        for form in sorted(pair.key_forms) if len(pair.key_forms) > 1 else ():
            own = int.from_bytes(sha256(repr((same, form)).encode()).digest()[:8], signed=True)
            found[own] = replace(pair, key_names=form, key_forms=frozenset({form}))
            alike = _key_form(_is_whole()) == F.array(*map(F.lit, form))
            here = (F.col("schema_id") == same) & alike
            number = F.when(here, F.lit(own)).otherwise(number)
    return records.withColumn("schema_id", number), found


def readable(records: DataFrame, schemas: Mapping[int, SchemaPair]) -> DataFrame:
    """Parsed records without the payloads beside which stands a schema that is no JSON."""
    for part in ("value", "key"):
        broken = [number for number, pair in schemas.items() if part in pair.broken]
        if broken:
            payload = F.when(~F.col("schema_id").isin(*broken), F.col(f"{part}_payload"))
            records = records.withColumn(f"{part}_payload", payload)
    return records


def row_document() -> Column:
    """The row of a parsed record whose value has no schema, as JSON text."""
    return _object(_row())


def deleted_document() -> Column:
    """The same of a row that a parsed record deletes; a cell may be wrapped in one of the two."""
    return F.when(_shows_no_row(_row()), _object(_deleted()))


def row_names() -> Column:
    """The fields of `row_document`, or else of `deleted_document`; NULL where there is neither."""
    row = _row()
    return F.coalesce(
        F.json_object_keys(row), F.when(_shows_no_row(row), F.json_object_keys(_deleted()))
    )


def _row() -> Column:
    payload = F.col("value_payload")
    row = F.when(F.col("marked"), payload).otherwise(F.get_json_object(payload, "$.after"))
    return F.when(F.col("value_schema").isNull(), row)


def _deleted() -> Column:
    return F.get_json_object(F.col("value_payload"), "$.before")


def _shows_no_row(row: Column) -> Column:
    """Whether a value that is no flattened row, and has no schema, has no document for its row."""
    bare = F.col("value_schema").isNull() & ~F.col("marked")
    return bare & ~F.coalesce(row.rlike(_OBJECT), F.lit(False))


def _object(text: Column) -> Column:
    """A text that may be an object; NULL for any other. It is read from a document only once."""
    return once(text, lambda found: F.when(found.rlike(_OBJECT), found))


def carries_row(accepts: Sequence[str], *, keyed: bool) -> Column:
    """Whether a parsed record without schema may be a change: what others hold is no value.

    `accepts` are the names that `source.connector` may say, `keyed`: whether it has to have a key.
    """
    payload, key = F.col("value_payload"), F.col("key_payload")
    source = F.get_json_object(payload, "$.source")
    name = F.nullif(F.get_json_object(source, "$.connector"), F.lit(""))
    op = F.get_json_object(payload, "$.op").isin(*_ROW_OPS)
    event = op & source.startswith("{") & F.coalesce(name, F.lit(accepts[0])).isin(*accepts)
    has_key = key.rlike(_OBJECT) if keyed else key.isNull() | key.rlike(_OBJECT)
    return (F.col("marked") | event) & has_key


def row_values() -> Column:
    """The values of `row_document`."""
    return _values(row_document(), "$.after")


def deleted_values() -> Column:
    """The values of `deleted_document`."""
    return _values(deleted_document(), "$.before")


def _values(document: Column, path: str) -> Column:
    """A part of the payload as a variant.

    `get_json_object` turned numbers beyond all doubles into these words, as if they were texts.
    """
    whole = F.try_parse_json(F.col("value_payload"))
    part = F.coalesce(F.try_variant_get(whole, path, "variant"), whole)
    return F.when(document.contains('Infinity"'), part).otherwise(F.try_parse_json(document))


def _key_form(whole: Column) -> Column:
    """The columns of a key without schema, in their order, whose record is `whole`."""
    return F.when(F.col("key_schema").isNull() & whole, F.json_object_keys("key_payload"))


def _is_whole() -> Column:
    """Whether a parsed record has a value that is one document, or none."""
    value = F.col("value_payload")
    return ~_says(value) | F.json_object_keys(value).isNotNull()


def _says(payload: Column) -> Column:
    """False for a tombstone, whichever way it is written."""
    return F.coalesce(F.trim(payload) != "null", F.lit(False))


def _schema_id(value_schema: Column, key_schema: Column, marked: Column) -> Column:
    """A number for the shape of a record: its pair of schemas; missing ones count as empty."""
    return F.xxhash64(
        F.coalesce(value_schema, F.lit("")), F.coalesce(key_schema, F.lit("")), marked
    )


def _is_marked(payload: Column, schema: Column) -> Column:
    """Whether a record bears the metadata of a flattened row; NULL where its schema says it."""
    named = "|".join(mark.removeprefix(flattened.PREFIX) for mark in flattened.MARKS)
    # Soon told, and mostly not so. With the quote before it each quote would be looked at.
    named_so = payload.contains(flattened.PREFIX)
    suspect = named_so & payload.rlike(rf'"{flattened.PREFIX}({named})"\s*:')
    marked = F.coalesce(F.when(suspect, ~_is_envelope(payload)), F.lit(False))
    return F.when(schema.isNull(), marked)


def _is_envelope(payload: Column) -> Column:
    """Whether it has an operation, and a source that is a document; a text may hold one."""
    source = F.get_json_object(payload, "$.source").startswith("{")
    nested = payload.rlike(r'"source"\s*:\s*\{')
    op = F.get_json_object(payload, "$.op").isNotNull()
    return F.coalesce(op & source & nested, F.lit(False))


def _parsed(text: str | None, *, legible: bool | None) -> object:
    if text is None or not text.startswith("{"):
        return None
    if not legible or connect.LONE_SURROGATE.search(text):
        return _BROKEN
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return _BROKEN
