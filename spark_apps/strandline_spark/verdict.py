"""What a record is, and why it cannot be decoded: `_verdict`, `_reason`, `_detail` in columns.

Reasons and sentences are those of `strandline.law.decode.general`, tried in its order.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from strandline.changes.change import MESSAGE, SENT, Op
from strandline.formats import connect
from strandline.law.decode.general import CONTROL_FIELDS, HEARTBEAT, KEY_CHANGED, NO_KEY
from strandline_spark.changes import quoted
from strandline_spark.shallow import any_of

CHANGE, FENCE, TOMBSTONE = "change", "fence", "tombstone"
CONTROL, QUARANTINED = "control", "quarantined"

_SENTENCES = {
    "invalid_utf8": "the record is not UTF-8",
    "invalid_json": "the record is not JSON",
    "not_an_envelope": "the value is no change event: it has no field 'op'",
    "no_source": "the envelope has no 'source'",
    "no_key": NO_KEY,
    "no_position": "the source has no usable position",
    "key_changed": KEY_CHANGED,
}
_OF_KEY = {"invalid_utf8": "the key is not UTF-8", "invalid_json": "the key is not JSON"}
_BAD_KEY = "the key holds a value that is none of its type"
_EMPTY_KEY = "the key holds no value for one of its columns, or has none"


@dataclass(frozen=True, slots=True)
class Judged:
    """What a verdict is based on besides the parsed record.

    `connector` are the names that `source.connector` may say, `keyless` whether a key says nothing
    of one of its columns, `rekeyed` whether an update changes the key that the source file names
    where records have none (`named`: it names one), `cells` per column whether its cell is unfit
    and the name of its type.
    """

    connector: Sequence[str]
    keyless: Column
    rekeyed: Column
    named: bool
    cells: Mapping[str, tuple[Column, str]]
    flat: bool

    def is_message(self, op: Column) -> Column:
        """Whether an event says that it is of no row; the transform makes no row of such a one."""
        return F.lit(False) if self.flat else op == MESSAGE


def judge(rows: DataFrame, by: Judged) -> DataFrame:
    """Adds `_reason`, `_verdict` and `_detail`."""
    unfit = {name: f"unfit:{name}" for name in by.cells}
    return (
        rows.withColumns({unfit[name]: is_unfit for name, (is_unfit, _) in by.cells.items()})
        .withColumns({"_reason": _reason(by, [F.col(quoted(name)) for name in unfit.values()])})
        .withColumns({"_verdict": _verdict(), "_detail": _detail(by, unfit)})
    )


def _reason(by: Judged, unfit: Sequence[Column]) -> Column:
    op, v, broken = F.col("_op"), F.col("v"), F.col("_broken")
    has_op = v["op"].isNotNull()
    named = F.coalesce(F.nullif(F.col("v.source.connector"), F.lit("")), F.lit(by.connector[0]))
    row = op.isin("c", "u", "r", "d")
    image = op.isin("c", "u", "r")
    unplaced = F.col("_major").isNull()
    value_reason = (
        F.when(F.col("illegible"), "invalid_utf8")
        .when(broken, _broken_reason())
        .when(~has_op & ~F.col("control"), "not_an_envelope")
        .when(~has_op, F.lit(None))
        .when(op.isNull() & ~by.is_message(v["op"]), "unknown_op")
        .when(v["source"].isNull(), "no_source")
        .when(op.isNull(), F.lit(None))
        .when(~named.isin(*by.connector), "unknown_connector")
        .when((op == "t") & unplaced, "no_position")
        .when(image & v["after"].isNull(), "no_image")
        .when(row, F.coalesce(_key_reason(by), F.when(by.rekeyed, "key_changed")))
    )
    row_reason = F.when(image & any_of(unfit), "bad_value").when(unplaced, "no_position")
    # Where the connector knows of no key, its tombstones name none.
    nameless = F.lit(by.named) & F.col("key").isNull()
    return F.when(op == Op.TOMBSTONE.value, F.when(~nameless, _key_reason(by))).otherwise(
        F.coalesce(value_reason, F.when(row & has_op & ~broken, row_reason))
    )


def is_no_text(column: str) -> Column:
    """Not UTF-8, or a document that spells half of a character."""
    text = F.col(column)
    lone = text.contains("\\u") & text.rlike(connect.LONE_SURROGATE.pattern)
    return ~F.is_valid_utf8(text) | lone


def _broken_reason() -> Column:
    """Not JSON at all, or JSON whose parts are of another form than an envelope's."""
    parts = F.col("loose.parts")
    return (
        F.when(F.col("loose.more"), "not_an_envelope")
        .when(~F.col("loose.valid"), "invalid_json")
        .when(parts["_corrupt"].isNotNull() | parts["op"].isNull(), "not_an_envelope")
        .when(~parts["op"].isin(*sorted(SENT), MESSAGE), "unknown_op")
        .when(~parts["source"].startswith("{") | parts["source"].isNull(), "no_source")
        .otherwise("no_image")
    )


def _key_reason(by: Judged) -> Column:
    text = F.col("key_text")
    return (
        F.when(F.col("_key").isNotNull(), F.lit(None))
        .when(F.col("key").isNull(), "no_key")
        .when(is_no_text("key_text"), "invalid_utf8")
        .when(F.try_parse_json(text).isNull(), "invalid_json")
        .when(~F.col("key_payload").startswith("{") | (F.trim("key_payload") == "{}"), "no_key")
        .when(by.keyless, "no_key")
        .otherwise("bad_value")
    )


def is_control() -> Column:
    """Whether a document without `op` has the fields of Debezium's own bookkeeping."""
    names = F.json_object_keys("value_payload")

    def has(wanted: frozenset[str]) -> Column:
        return F.size(F.array_intersect(names, F.array(*map(F.lit, sorted(wanted))))) == len(wanted)

    alone = (F.size(F.array_distinct(names)) == len(HEARTBEAT)) & has(HEARTBEAT)
    return F.coalesce(any_of([alone, *map(has, CONTROL_FIELDS)]), F.lit(False))


def _verdict() -> Column:
    op = F.col("_op")
    return (
        F.when(F.col("_reason").isNotNull(), QUARANTINED)
        .when((op == Op.TOMBSTONE.value) & F.col("_key").isNotNull(), TOMBSTONE)
        .when(op == Op.TRUNCATE.value, FENCE)
        .when(op.isin("c", "u", "r", "d"), CHANGE)
        .otherwise(CONTROL)
    )


def _detail(by: Judged, unfit: Mapping[str, str]) -> Column:
    reason = F.col("_reason")
    cell = F.when(F.lit(False), "")
    for column, (_, spark) in by.cells.items():
        cell = cell.when(F.col(quoted(unfit[column])), F.lit(f"after.{column} is no {spark}"))
    op, stranger = F.coalesce("v.op", "loose.parts.op"), F.col("v.source.connector")
    detail = (
        F.when(reason == "unknown_op", F.format_string("op is '%s'", op))
        .when(reason == "unknown_connector", F.concat(F.lit("source.connector is "), stranger))
        .when(reason == "no_image", F.format_string("op is '%s', but an image is no row", op))
        .when(reason == "bad_value", cell.otherwise(_BAD_KEY))
        .when((reason == "no_key") & F.col("key").isNotNull(), _EMPTY_KEY)
    )
    for name, sentence in _OF_KEY.items():  # all that a tombstone has
        detail = detail.when((reason == name) & (F.col("_op") == Op.TOMBSTONE.value), sentence)
    for name, sentence in _SENTENCES.items():
        detail = detail.when(reason == name, sentence)
    return detail
