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
    """Landed records with texts and schemas split off; still one row per record."""
    value, key = F.col("value").cast("string"), F.col("key").cast("string")
    value_schema, value_payload = documents.split(value)
    key_schema, key_payload = documents.split(key)
    return landed.select(
        "*",
        value_schema.alias("value_schema"),
        value_payload.alias("value_payload"),
        key_schema.alias("key_schema"),
        key_payload.alias("key_payload"),
        documents.schema_id(value_schema, key_schema).alias("schema_id"),
    )


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
    documents_parsed = records.withColumn(
        "v", F.from_json("value_payload", _envelope(table, connector), _STRICT)
    ).withColumn("k", _key_cells(F.col("key_payload"), table))
    typed = documents_parsed.select(
        "*",
        *(_typed(column, types).alias(_cell(column)) for column, types in table.columns.items()),
        _canonical(F.col("k"), table).alias("_key"),
        _moved(NEW_KEY, Op.DELETE, table).alias("_moved_to"),
        _moved(OLD_KEY, Op.CREATE, table).alias("_moved_from"),
        connector.major(F.col("v.source")).alias("_major"),
        _op().alias("_op"),
    )
    reason = _reason(table, connector)
    judged = typed.withColumn("_reason", reason).withColumn("_class", _class())
    return judged.select(
        "topic", "topic_id", "partition", "offset", "timestamp", "key", "value", "headers",
        "_class", "_reason", _detail(table).alias("_detail"),
        *(F.col(_cell(column)).alias(column) for column in table.names),
        *_meta(table, connector, run),
    )  # fmt: skip


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


def _moved(header: str, op: Op, table: Shape) -> Column:
    """The other key of a move, from the last header of that name; NULL where there is none."""
    found = F.filter(F.col("headers"), lambda h: h["key"] == header)
    text = F.try_element_at(found, F.lit(-1))["value"].cast("string")
    _, payload = documents.split(text)
    return F.when(F.col("v.op") == op.value, _canonical(_key_cells(payload, table), table))


def _typed(column: str, types: Mapping[int, ColumnType]) -> Column:
    raw = F.when(~_unset(column), _raw(column))
    distinct = set(types.values())
    if len(distinct) == 1:
        return values.decode(raw, next(iter(distinct)))
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


def _raw(column: str) -> Column:
    return F.col("v.after").getField(column)


def _unset(column: str) -> Column:
    return F.coalesce(_raw(column).isin(*sorted(UNAVAILABLE)), F.lit(False))


def _snapshot() -> Column:
    return ~F.coalesce(F.col("v.source.snapshot"), F.lit("false")).isin("false", "null")


def _op() -> Column:
    """The operation; a create that a snapshot sent is a read, a missing value a tombstone."""
    read = (F.col("v.op") == Op.CREATE.value) & _snapshot()
    gone = F.col("value").isNull() | (F.trim("value_payload") == "null")
    return F.when(gone, Op.TOMBSTONE.value).when(read, Op.READ.value).otherwise(F.col("v.op"))


def _reason(table: Shape, connector: Connector) -> Column:
    """Why a record cannot be decoded, in the interpreter's order; NULL where it can."""
    op, v = F.col("_op"), F.col("v")
    broken = v["_corrupt"].isNotNull() | v.isNull()
    has_op = v["op"].isNotNull()
    known = op.isin(*(each.value for each in Op), "m")
    source_gone = v["source"].isNull()
    stranger = ~F.coalesce(F.col("v.source.connector").isin(*connector.names), F.lit(False))
    row = op.isin("c", "u", "r", "d")
    image = op.isin("c", "u", "r")
    unplaced = F.col("_major").isNull()
    unfit = [
        _raw(column).isNotNull() & ~_unset(column) & F.col(_cell(column)).isNull()
        for column in table.names
    ]
    value_reason = (
        F.when(~F.is_valid_utf8(F.col("value").cast("string")), "invalid_utf8")
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


def _broken_reason() -> Column:
    """Not JSON at all, or JSON whose parts are of another form than an envelope's."""
    payload = F.col("value_payload")
    loose = F.from_json(payload, "op STRING, source STRING, after STRING, _corrupt STRING", _STRICT)
    valid = F.try_parse_json(payload).isNotNull()
    return (
        F.when(~valid, "invalid_json")
        .when(loose["_corrupt"].isNotNull() | loose["op"].isNull(), "not_an_envelope")
        .when(~loose["op"].isin(*(each.value for each in Op)), "unknown_op")
        .when(~loose["source"].startswith("{") | loose["source"].isNull(), "no_source")
        .otherwise("no_image")
    )


def _key_reason() -> Column:
    text = F.col("key").cast("string")
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
        bad = _raw(column).isNotNull() & ~_unset(column) & F.col(_cell(column)).isNull()
        spark = next(iter(types.values())).spark
        unfit = F.when(bad, F.lit(f"after.{column} is no {spark}")).otherwise(unfit)
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
    parts = [
        *connector.identity(v["source"]), F.col("_op"), F.col("_moved_to"), F.col("_moved_from"),
        v["before"], *(_raw(column) for column in table.names),
    ]  # fmt: skip
    return F.xxhash64(*(F.coalesce(part, F.lit(_NOTHING)) for part in parts))


def _any(conditions: Sequence[Column]) -> Column:
    return reduce(lambda a, b: a | b, conditions, F.lit(False))
