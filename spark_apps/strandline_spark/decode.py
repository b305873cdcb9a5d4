"""Stages decode and position in columns; the twin of `strandline.interpreter.decode`.

One pass over the landed bytes: every record gets a `_class` (change, fence, tombstone, control,
quarantined) and, if it is a change, its typed columns. `from_json` is narrow: it names only the
fields that are used, and hands cells over as text.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import reduce

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from strandline import connect
from strandline.change import Op
from strandline.errors import Terminal
from strandline.interpreter.decode import EARLIEST, NEW_KEY, OLD_KEY, TOLERANCE, UNAVAILABLE
from strandline.position import EPOCH
from strandline.types import ColumnType
from strandline.version import TimeQuality
from strandline_spark import documents, values
from strandline_spark.connectors import Connector
from strandline_spark.documents import SchemaPair

CHANGE, FENCE, TOMBSTONE = "change", "fence", "tombstone"
CONTROL, QUARANTINED = "control", "quarantined"

_STRICT = {
    "mode": "PERMISSIVE",
    "columnNameOfCorruptRecord": "_corrupt",
    "allowSingleQuotes": "false",
    "allowNonNumericNumbers": "false",
}
_NOTHING = "\x00"  # stands for NULL inside hashes, where NULL would leave no trace
_CONTROL_FIELDS = ("ddl", "tableChanges", "aggregate_type", "ts_ms")


@dataclass(frozen=True, slots=True)
class Shape:
    """The columns of a table as a batch declares them.

    `columns` maps each business column to its type by schema; `keys` likewise the key's columns.
    """

    columns: Mapping[str, Mapping[int, ColumnType]]
    keys: Mapping[int, Mapping[str, ColumnType]]

    @property
    def names(self) -> list[str]:
        """The business columns in the order of their first appearance."""
        return list(self.columns)


def parsed(landed: DataFrame) -> DataFrame:
    """Landed records with texts and schemas split off; still one row per record.

    Here and in `decode` every step names its results: an expression that stood in many places
    would be copied into all of them, and planning would cost more than the work.
    """
    texts = landed.withColumns(
        {"value_text": F.col("value").cast("string"), "key_text": F.col("key").cast("string")}
    )
    value_schema, value_payload = documents.split(F.col("value_text"))
    key_schema, key_payload = documents.split(F.col("key_text"))
    return texts.withColumns(
        {
            "value_schema": value_schema,
            "value_payload": value_payload,
            "key_schema": key_schema,
            "key_payload": key_payload,
        }
    ).withColumn("schema_id", documents.schema_id(F.col("value_schema"), F.col("key_schema")))


def shape(schemas: Mapping[int, SchemaPair]) -> Shape:
    """What the batch's schemas say of the table."""
    columns: dict[str, dict[int, ColumnType]] = {}
    keys = {}
    for number, pair in schemas.items():
        for name, of in connect.row_types(pair.value).items():
            columns.setdefault(name, {})[number] = of
        if pair.key is not None:
            keys[number] = connect.column_types(pair.key)
    return Shape(columns, keys)


def decode(records: DataFrame, table: Shape, connector: Connector, run: int) -> DataFrame:
    """Every record with `_class`, `_reason`, `_detail` and the columns of the changes table."""
    steps: Sequence[Mapping[str, Column]] = (
        {
            "v": F.from_json("value_payload", _envelope(table, connector), _STRICT),
            "k": _key_cells(F.col("key_payload"), table),
            "new_text": _header(NEW_KEY),
            "old_text": _header(OLD_KEY),
        },
        {
            "_op": _op(),
            "_major": connector.major(F.col("v.source")),
            "_broken": F.col("v").isNull() | F.col("v._corrupt").isNotNull(),
            "new_payload": documents.split(F.col("new_text"))[1],
            "old_payload": documents.split(F.col("old_text"))[1],
            **{_raw_name(name): _sent(name) for name in table.names},
        },
        {
            "loose": F.when(F.col("_broken"), _loosely(F.col("value_payload"))),
            "new_cells": _key_cells(F.col("new_payload"), table),
            "old_cells": _key_cells(F.col("old_payload"), table),
            **{_ready_name(name): _ready(name, types) for name, types in table.columns.items()},
        },
        {
            "_key": _canonical(F.col("k"), table),
            "_moved_to": F.when(F.col("_op") == "d", _canonical(F.col("new_cells"), table)),
            "_moved_from": F.when(F.col("_op") == "c", _canonical(F.col("old_cells"), table)),
            **{_cell(name): _typed(name, types) for name, types in table.columns.items()},
        },
        {"_reason": _reason(table, connector)},
        {"_class": _class(), "_detail": _detail(table)},
    )
    judged = reduce(lambda frame, step: frame.withColumns(dict(step)), steps, records)
    return judged.select(
        "topic", "topic_id", "partition", "offset", "timestamp", "key", "value", "headers",
        "_class", "_reason", "_detail",
        *(F.col(_cell(column)).alias(column) for column in table.names),
        *_meta(table, connector, run),
    )  # fmt: skip


def _raw_name(column: str) -> str:
    return f"raw:{column}"


def _ready_name(column: str) -> str:
    return f"ready:{column}"


def _cell(column: str) -> str:
    """A name for the typed cell that no field of a landed record has."""
    return f"cell:{column}"


def _quoted(name: str) -> str:
    return "`" + name.replace("`", "``") + "`"


def _envelope(table: Shape, connector: Connector) -> str:
    source = dict.fromkeys(("connector", "snapshot", "ts_ms", "ts_us", *connector.fields))
    row = ", ".join(f"{_quoted(name)}: STRING" for name in table.names)
    after = f"STRUCT<{row}>" if row else "STRING"
    return (
        f"before STRING, after {after}, op STRING, status STRING, id STRING, "
        f"{', '.join(f'{field} STRING' for field in _CONTROL_FIELDS)}, "
        f"source STRUCT<{', '.join(f'{_quoted(field)}: STRING' for field in source)}>, "
        "_corrupt STRING"
    )


def _key_columns(table: Shape) -> list[str]:
    return list(dict.fromkeys(name for types in table.keys.values() for name in types))


def _key_cells(payload: Column, table: Shape) -> Column:
    names = _key_columns(table)
    if not names:
        return F.lit(None).cast("struct<_corrupt string>")
    fields = ", ".join(f"{_quoted(name)} STRING" for name in names)
    return F.from_json(payload, f"{fields}, _corrupt STRING", _STRICT)


def _canonical(cells: Column, table: Shape) -> Column:
    """The key's text, by the types of the record's own key schema; NULL where a part is unfit."""
    cases = F.lit(None).cast("string")
    for number, types in table.keys.items():
        typed = {n: values.decode(cells.getField(n), of) for n, of in types.items()}
        unfit = [cells.getField(n).isNotNull() & typed[n].isNull() for n in types]
        text = F.to_json(
            F.struct(*(values.text(typed[n], of).alias(n) for n, of in types.items())),
            {"ignoreNullFields": "false"},
        )
        whole = cells.isNotNull() & cells.getField("_corrupt").isNull() & ~_any(unfit)
        cases = F.when((F.col("schema_id") == number) & whole, text).otherwise(cases)
    return cases


def _header(name: str) -> Column:
    """The text of the last header of that name."""
    found = F.filter(F.col("headers"), lambda header: header["key"] == name)
    return F.try_element_at(found, F.lit(-1))["value"].cast("string")


def _sent(column: str) -> Column:
    """The cell as the envelope has it; NULL also where only a placeholder was sent."""
    return F.when(~_unset(column), F.col("v.after").getField(column))


def _unset(column: str) -> Column:
    cell = F.col("v.after").getField(column)
    return F.coalesce(cell.isin(*sorted(UNAVAILABLE)), F.lit(False))


def _ready(column: str, types: Mapping[int, ColumnType]) -> Column:
    """The cell after the first step of its decoder, where it has one type only."""
    raw, distinct = F.col(_raw_name(column)), set(types.values())
    return values.prepare(raw, distinct.pop()) if len(distinct) == 1 else raw


def _typed(column: str, types: Mapping[int, ColumnType]) -> Column:
    raw = F.col(_raw_name(column))
    distinct = set(types.values())
    if len(distinct) == 1:
        return values.finish(F.col(_ready_name(column)), next(iter(distinct)))
    target = _common(column, list(distinct))
    cases = F.lit(None).cast(target.spark)
    for number, of in types.items():
        typed = values.decode(raw, of).cast(target.spark)
        cases = F.when(F.col("schema_id") == number, typed).otherwise(cases)
    return cases


def _common(column: str, types: Sequence[ColumnType]) -> ColumnType:
    kinds = {of.spark for of in types}
    if len(kinds) == 1:
        return types[0]
    raise Terminal(
        f"column '{column}' changed its type inside one batch ({', '.join(sorted(kinds))}): "
        "map it in the table's column contract"
    )


def _snapshot() -> Column:
    return ~F.coalesce(F.col("v.source.snapshot"), F.lit("false")).isin("false", "null")


def _op() -> Column:
    """The operation; a create that a snapshot sent is a read, a missing value a tombstone."""
    read = (F.col("v.op") == Op.CREATE.value) & _snapshot()
    gone = F.col("value").isNull() | (F.trim("value_payload") == "null")
    return F.when(gone, Op.TOMBSTONE.value).when(read, Op.READ.value).otherwise(F.col("v.op"))


def _reason(table: Shape, connector: Connector) -> Column:
    """Why a record cannot be decoded, in the interpreter's order; NULL where it can."""
    op, v, broken = F.col("_op"), F.col("v"), F.col("_broken")
    has_op = v["op"].isNotNull()
    known = op.isin(*(each.value for each in Op), "m")
    source_gone = v["source"].isNull()
    stranger = ~F.coalesce(F.col("v.source.connector").isin(*connector.names), F.lit(False))
    row = op.isin("c", "u", "r", "d")
    image = op.isin("c", "u", "r")
    unplaced = F.col("_major").isNull()
    unfit = [_unfit(column) for column in table.names]
    value_reason = (
        F.when(~F.is_valid_utf8("value_text"), "invalid_utf8")
        .when(broken, _broken_reason())
        .when(~has_op & ~_is_control(), "not_an_envelope")
        .when(~has_op | (op == "m"), F.lit(None))
        .when(~known, "unknown_op")
        .when(source_gone, "no_source")
        .when(stranger, "unknown_connector")
        .when((op == "t") & unplaced, "no_position")
        .when(row, _key_reason())
    )
    row_reason = (
        F.when(image & v["after"].isNull(), "no_image")
        .when(image & _any(unfit), "bad_value")
        .when(unplaced, "no_position")
        .when(_bad_header(NEW_KEY, "_moved_to", "d"), "bad_header")
        .when(_bad_header(OLD_KEY, "_moved_from", "c"), "bad_header")
    )
    return F.when(op == Op.TOMBSTONE.value, _key_reason()).otherwise(
        F.coalesce(value_reason, F.when(row & has_op & ~broken, row_reason))
    )


def _unfit(column: str) -> Column:
    return F.col(_raw_name(column)).isNotNull() & F.col(_cell(column)).isNull()


def _loosely(payload: Column) -> Column:
    """A document that is no envelope, read part by part to say which part is wrong."""
    parts = "op STRING, source STRING, after STRING, _corrupt STRING"
    return F.struct(
        F.from_json(payload, parts, _STRICT).alias("parts"),
        F.try_parse_json(payload).isNotNull().alias("valid"),
    )


def _broken_reason() -> Column:
    """Not JSON at all, or JSON whose parts are of another form than an envelope's."""
    parts = F.col("loose.parts")
    return (
        F.when(~F.col("loose.valid"), "invalid_json")
        .when(parts["_corrupt"].isNotNull() | parts["op"].isNull(), "not_an_envelope")
        .when(~parts["op"].isin(*(each.value for each in Op)), "unknown_op")
        .when(~parts["source"].startswith("{") | parts["source"].isNull(), "no_source")
        .otherwise("no_image")
    )


def _key_reason() -> Column:
    text = F.col("key_text")
    return (
        F.when(F.col("key").isNull(), "no_key")
        .when(~F.is_valid_utf8(text), "invalid_utf8")
        .when(F.col("_key").isNotNull(), F.lit(None))
        .when(F.try_parse_json(text).isNull(), "invalid_json")
        .when(F.col("key_schema").isNull(), "no_schema")
        .otherwise("bad_value")
    )


def _bad_header(header: str, column: str, op: str) -> Column:
    sent = F.exists(F.col("headers"), lambda h: (h["key"] == header) & h["value"].isNotNull())
    return (F.col("_op") == op) & F.coalesce(sent, F.lit(False)) & F.col(column).isNull()


def _is_control() -> Column:
    v = F.col("v")
    named = [v[field].isNotNull() for field in _CONTROL_FIELDS]
    return _any([*named, v["status"].isNotNull() & v["id"].isNotNull()])


def _class() -> Column:
    op = F.col("_op")
    return (
        F.when(F.col("_reason").isNotNull(), QUARANTINED)
        .when(op == Op.TOMBSTONE.value, TOMBSTONE)
        .when(op == Op.TRUNCATE.value, FENCE)
        .when(op.isin("c", "u", "r", "d"), CHANGE)
        .otherwise(CONTROL)
    )


_SENTENCES = {
    "invalid_utf8": "the record is not UTF-8",
    "invalid_json": "the record is not JSON",
    "not_an_envelope": "the value is no change event: it has no field 'op'",
    "no_source": "the envelope has no 'source'",
    "no_key": "the record has no key: a table needs a primary key or message.key.columns",
    "no_schema": "no schema is embedded and the table has no column contract",
    "bad_header": "the header of the key move holds no key",
    "no_position": "the source has no usable position",
}


def _detail(table: Shape) -> Column:
    reason = F.col("_reason")
    detail = F.lit(None).cast("string")
    for name, sentence in _SENTENCES.items():
        detail = F.when(reason == name, sentence).otherwise(detail)
    unfit = F.lit("the key")
    for column, types in table.columns.items():
        spark = next(iter(types.values())).spark
        unfit = F.when(_unfit(column), F.lit(f"after.{column} is no {spark}")).otherwise(unfit)
    op, stranger = F.col("v.op"), F.col("v.source.connector")
    return (
        F.when(reason == "unknown_op", F.format_string("op is '%s'", op))
        .when(reason == "unknown_connector", F.concat(F.lit("source.connector is "), stranger))
        .when(reason == "no_image", F.format_string("op is '%s', but 'after' holds no row", op))
        .when(reason == "bad_value", unfit)
        .otherwise(detail)
    )


def _meta(table: Shape, connector: Connector, run: int) -> list[Column]:
    """The columns of the changes table after the business columns."""
    source, op = F.col("v.source"), F.col("_op")
    tie = F.when(op == Op.TRUNCATE.value, F.lit(0)).otherwise(F.col("offset"))
    seq = F.concat(F.lit(EPOCH), F.col("_major"), F.lower(F.lpad(F.hex(tie), 16, "0")))
    unset = F.filter(
        F.array(*(F.when(_unset(column), F.lit(column)) for column in table.names)),
        lambda name: name.isNotNull(),
    )
    best, raw, quality = _time(connector)
    moved = F.col("_moved_to").isNotNull() | F.col("_moved_from").isNotNull()
    kind = F.when(op == Op.TRUNCATE.value, "fence").when(moved, "move").otherwise("row")
    return [
        F.col("_key"),
        op.alias("_op"),
        seq.alias("_seq"),
        connector.position(source).alias("_position"),
        connector.link(source).alias("_link"),
        _identity(table, connector).alias("_identity"),
        F.col("_moved_to"),
        F.col("_moved_from"),
        unset.cast("array<string>").alias("_unset"),
        connector.tx_id(source).alias("_tx_id"),
        best.alias("_time"),
        raw.alias("_source_ts"),
        quality.alias("_ts_quality"),
        F.col("topic").alias("_topic"),
        F.col("topic_id").alias("_topic_id"),
        F.col("partition").alias("_partition"),
        F.col("offset").alias("_offset"),
        F.lit(run).cast("int").alias("_run"),
        kind.alias("_kind"),
    ]


def _time(connector: Connector) -> tuple[Column, Column, Column]:
    """(best, raw, quality): the source's time where it is believable, else Kafka's (§5.3)."""
    source = F.col("v.source")
    micros = F.coalesce(
        source["ts_us"].try_cast("bigint"), source["ts_ms"].try_cast("bigint") * 1000
    )
    raw = values.instant(micros)
    tolerance = F.make_dt_interval(days=F.lit(TOLERANCE.days))
    believable = (raw >= F.lit(EARLIEST)) & (raw <= F.col("timestamp") + tolerance)
    sure = F.coalesce(believable, F.lit(False)) & (F.col("_op") != Op.TOMBSTONE.value)
    streamed = F.when(_snapshot(), TimeQuality.SNAPSHOT.value).otherwise(connector.quality(source))
    return (
        F.when(sure, raw).otherwise(F.col("timestamp")),
        raw,
        F.when(sure, streamed).otherwise(TimeQuality.KAFKA.value),
    )


def _identity(table: Shape, connector: Connector) -> Column:
    v = F.col("v")
    cells = [v["after"].getField(column) for column in table.names]
    parts = [
        *connector.identity(v["source"]), F.col("_op"), F.col("_moved_to"), F.col("_moved_from"),
        v["before"], *cells,
    ]  # fmt: skip
    return F.xxhash64(*(F.coalesce(part, F.lit(_NOTHING)) for part in parts))


def _any(conditions: Sequence[Column]) -> Column:
    return reduce(lambda a, b: a | b, conditions, F.lit(False))
