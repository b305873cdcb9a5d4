"""Stages decode and position in columns; the twin of `strandline.interpreter.decode`.

One pass over the landed bytes: every record gets a `_class` (change, fence, tombstone, control,
quarantined) and, if it is a change, its typed columns. `from_json` is narrow: it names only the
fields that are used, and hands cells over as text.

Every step names its results: an expression that stood in many places would be copied into all of
them, and planning would cost more than the work.
"""

from collections.abc import Callable, Container, Mapping, Sequence
from dataclasses import dataclass
from functools import reduce

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F
from pyspark.sql.types import StructType

from strandline import flattened
from strandline.change import Op
from strandline.interpreter.decode import NEW_KEY, OLD_KEY, RUN_ID
from strandline.interpreter.event import EARLIEST, TOLERANCE
from strandline.placeholder import spellings
from strandline.position import Phase
from strandline.rules import TableRules
from strandline.types import ColumnType, Kind, Wire
from strandline.version import TimeQuality
from strandline_spark import documents, image, values
from strandline_spark.changes import IN_FLIGHT, JSON, quoted
from strandline_spark.connectors import Connector
from strandline_spark.connectors.connector import whole
from strandline_spark.distinct import place
from strandline_spark.in_flight import STREAMED
from strandline_spark.shape import Shape
from strandline_spark.verdict import Judged, judge

_STRICT = {
    "mode": "PERMISSIVE",
    "columnNameOfCorruptRecord": "_corrupt",
    "allowSingleQuotes": "false",
    "allowNonNumericNumbers": "false",
}
_NOTHING = "\x00"  # stands for NULL inside hashes, where NULL would leave no trace
_CONTROL_FIELDS = ("ddl", "tableChanges", "aggregate_type", "ts_ms")
_SOURCE = ("connector", "version", "snapshot", "ts_ms", "ts_us", "db", "schema", "table")

Step = Mapping[str, Column] | Callable[[DataFrame], Mapping[str, Column]]


@dataclass(frozen=True, slots=True)
class Decoder:
    """Decodes the records of one batch of one table."""

    shape: Shape
    connector: Connector
    rules: TableRules
    run: int

    def decode(self, records: DataFrame, flat: Sequence[int]) -> DataFrame:
        """Every record with `_class`, `_reason`, `_detail` and the columns of the changes table.

        `flat` are the schemas whose records ExtractNewRecordState made.
        """
        if not flat:
            return self._decoded(records, flat=False)
        is_flat = F.col("schema_id").isin(*flat)
        both = (self._decoded(records.where(is_flat), flat=True),)
        both += (self._decoded(records.where(~is_flat), flat=False),)
        return both[0].unionByName(both[1])

    def _decoded(self, records: DataFrame, *, flat: bool) -> DataFrame:
        steps: Sequence[Step] = (
            {
                "v": self._flat_value() if flat else self._value(),
                "k": self._key_cells(F.col("key_payload")),
                "new_text": _header(NEW_KEY),
                "old_text": _header(OLD_KEY),
            },
            *([{"v": self._envelope_of_flat()}] if flat else []),
            {"exact": self._exact(flat=flat)},
            {
                "_op": _op(),
                "_major": F.lit("") if flat else self.connector.major(F.col("v.source")),
                "_broken": F.col("v").isNull() | F.col("v._corrupt").isNotNull(),
                "_wrapped": self._is_wrapped(),
                "new_payload": documents.split(F.col("new_text"))[1],
                "old_payload": documents.split(F.col("old_text"))[1],
            },
            {
                "loose": F.when(F.col("_broken"), _loosely(F.col("value_payload"))),
                "new_cells": self._key_cells(F.col("new_payload")),
                "old_cells": self._key_cells(F.col("old_payload")),
            },
            lambda frame: {
                _sent_name(name): self._sent(name, _fields(frame, "exact"))
                for name in self.shape.names
            },
            {_ready_name(name): self._ready(name, of) for name, of in self.shape.columns.items()},
            {
                "_key": self._key(),
                "_moved_to": F.when(
                    F.col("_op").isin("d", Op.TOMBSTONE.value), self._canonical("new_cells")
                ),
                "_moved_from": F.when(F.col("_op") == "c", self._canonical("old_cells")),
                "content:before": self._content("v.before"),
                "content:after": self._content("v.after"),
                **self._images(),
                **{_cell(name): self._typed(name, of) for name, of in self.shape.columns.items()},
                **self._beyond(),
            },
        )
        rows = reduce(_with, steps, records)
        judged = judge(
            rows,
            Judged(
                connector=self.connector.rules.accepts,
                positioned=not flat,
                control=_CONTROL_FIELDS,
                cells={
                    name: (_unfit(name, _beyond_name(name) in rows.columns), self._spark(name))
                    for name in self.shape.names
                },
            ),
        )
        return judged.select(
            "topic", "topic_id", "partition", "offset", "timestamp", "key", "value", "headers",
            "_class", "_reason", "_detail",
            *(self._column(name) for name in self.shape.names),
            *self._meta(rows.columns, flat=flat),
        )  # fmt: skip

    def _column(self, name: str) -> Column:
        """The typed cell under its name; a JSON column says of itself that it is one."""
        json = self.shape.targets[name].is_json
        return F.col(_cell(name)).alias(name, metadata={JSON: True} if json else {})

    def _spark(self, name: str) -> str:
        return next(iter(self.shape.columns[name].values())).spark

    # ------------------------------------------------------------------ documents

    def _value(self) -> Column:
        row = ", ".join(f"{quoted(name)}: STRING" for name in self.shape.names)
        image = f"STRUCT<{row}>" if row else "STRING"
        control = ", ".join(f"{field} STRING" for field in _CONTROL_FIELDS)
        source = ", ".join(f"{quoted(field)}: STRING" for field in self._source_fields())
        of = (
            f"before {image}, after {image}, op STRING, status STRING, id STRING, {control}, "
            "transaction STRUCT<id: STRING, total_order: STRING>, "
            f"source STRUCT<{source}>, _corrupt STRING"
        )
        return F.from_json("value_payload", of, _STRICT)

    def _source_fields(self) -> list[str]:
        return list(dict.fromkeys((*_SOURCE, *self.connector.fields)))

    def _flat_value(self) -> Column:
        own = [flattened.DELETED, flattened.OP, flattened.EMITTED]
        told = [
            prefix + field
            for field in self._source_fields()
            for prefix in (flattened.SOURCE, flattened.PREFIX)
        ]
        names = dict.fromkeys([*self.shape.names, *own, *told])
        fields = ", ".join(f"{quoted(name)} STRING" for name in names)
        return F.from_json("value_payload", f"{fields}, _corrupt STRING", _STRICT)

    def _envelope_of_flat(self) -> Column:
        """The envelope that the row once had, as far as it can be known."""
        row = F.col("v")
        names = self.shape.names
        cells = F.struct(*(row.getField(n).alias(n) for n in names)) if names else F.lit("")
        deleted = F.coalesce(F.lower(row[flattened.DELETED]) == "true", F.lit(False))
        moved = F.when(F.col("old_text").isNotNull(), "c").otherwise(flattened.STANDS)
        source = F.struct(
            *(
                F.coalesce(
                    row[flattened.SOURCE + field],
                    F.lit(None) if field == "ts_ms" else row[flattened.PREFIX + field],
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
                *(nothing.alias(name) for name in ("status", "id", *_CONTROL_FIELDS[:-1])),
                row[flattened.EMITTED].alias("ts_ms"),
                F.struct(nothing.alias("id"), nothing.alias("total_order")).alias("transaction"),
                source.alias("source"),
                row["_corrupt"].alias("_corrupt"),
            ),
        )

    # ------------------------------------------------------------------ keys

    def _key_columns(self) -> list[str]:
        return list(dict.fromkeys(name for of in self.shape.keys.values() for name in of))

    def _key_cells(self, payload: Column) -> Column:
        names = self._key_columns()
        if not names:
            return F.lit(None).cast("struct<_corrupt string>")
        fields = ", ".join(f"{quoted(name)} STRING" for name in names)
        cells = F.from_json(payload, f"{fields}, _corrupt STRING", _STRICT)
        if self.connector.is_wrapped([F.lit("")]) is None:
            return cells
        plain = (self._plain(cells.getField(name)).alias(name) for name in names)
        return F.struct(*plain, cells["_corrupt"].alias("_corrupt"))

    def _key(self) -> Column:
        """The canonical key of the record, else of the row's key columns."""
        own = self._canonical("k")
        if not self.rules.key:
            return own
        image = F.when(F.col("_op") == "d", F.col("v.before")).otherwise(F.col("v.after"))
        cases = F.lit(None).cast("string")
        for number in {n for of in self.shape.columns.values() for n in of}:
            types = {name: self.shape.columns[name].get(number) for name in self.rules.key
                     if name in self.shape.columns}  # fmt: skip
            if len(types) == len(self.rules.key) and all(types.values()):
                cells = {name: self._plain(image.getField(name)) for name in types}
                whole_key = reduce(lambda a, b: a & b, (c.isNotNull() for c in cells.values()))
                text = _text(cells, types)
                cases = F.when((F.col("schema_id") == number) & whole_key, text).otherwise(cases)
        return F.when(F.col("key").isNull(), cases).otherwise(own)

    def _canonical(self, column: str) -> Column:
        """The key's text, by the types of its own schema; NULL where a part is unfit."""
        cells = F.col(column)
        cases = F.lit(None).cast("string")
        for number, types in self.shape.keys.items():
            if types:
                named = {name: cells.getField(name) for name in types}
                readable = cells.isNotNull() & cells.getField("_corrupt").isNull()
                text = F.when(readable, _text(named, types))
                cases = F.when(F.col("schema_id") == number, text).otherwise(cases)
        return cases

    # ------------------------------------------------------------------ cells

    def _is_wrapped(self) -> Column:
        cells = [F.col("v.after").getField(name) for name in self.shape.names]
        found = self.connector.is_wrapped(cells)
        return F.lit(False) if found is None else found

    def _plain(self, cell: Column) -> Column:
        """The value inside a wrapped cell."""
        wrapped = self.connector.is_wrapped([cell])
        if wrapped is None:
            return cell
        return F.when(wrapped, F.get_json_object(cell, "$.value")).otherwise(cell)

    def _exact(self, *, flat: bool) -> Column:
        """The cells whose digits `from_json` may have lost, as they were sent."""
        spelled = values.respelled(
            F.col("value_payload"), None if flat else "after", self._doubtful()
        )
        return F.lit(None).cast("string") if spelled is None else spelled

    def _doubtful(self) -> dict[str, tuple[Column, ColumnType]]:
        """Columns of one type that a bare number may come in; texts only without a schema."""
        found = {}
        for name, types in self.shape.columns.items():
            of, *others = set(types.values())
            plain = of.kind is Kind.TEXT and of.wire is Wire.PLAIN
            if not others and (self.shape.bare or not plain):
                found[name] = (F.col("v.after").getField(name), of)
        return found

    def _sent(self, column: str, exact: Container[str]) -> Column:
        """The cell as the envelope has it; NULL also where it was not sent."""
        cell = self._plain(F.col("v.after").getField(column))
        if column in exact:
            cell = F.coalesce(F.col("exact").getField(column), cell)
        return F.when(~self._unset(column), cell)

    def _unset(self, column: str) -> Column:
        cell = F.col("v.after").getField(column)
        texts = sorted(spellings(self.rules.placeholder))
        gone = F.coalesce(cell.isin(*texts), F.lit(False))
        if self.connector.is_wrapped([cell]) is None:
            return gone
        wrapped, bare = F.col("_wrapped"), cell.isNull() & (F.col("_op") == "u")
        left_out = F.coalesce(F.get_json_object(cell, "$.set") == "false", F.lit(False))
        hidden = F.coalesce(F.get_json_object(cell, "$.value").isin(*texts), F.lit(False))
        return gone | (wrapped & (bare | left_out | hidden))

    def _ready(self, column: str, types: Mapping[int, ColumnType]) -> Column:
        """The cell after the first step of its decoder, where it has one type only."""
        sent, distinct = F.col(_sent_name(column)), set(types.values())
        return values.prepare(sent, distinct.pop()) if len(distinct) == 1 else sent

    def _typed(self, column: str, types: Mapping[int, ColumnType]) -> Column:
        target = self.shape.targets[column].spark
        distinct = set(types.values())
        if len(distinct) == 1:
            of = distinct.pop()
            typed = values.finish(F.col(_ready_name(column)), of)
            return typed if of.spark == target else typed.cast(target)
        cases = F.lit(None).cast(target)
        for number, of in types.items():
            typed = values.decode(F.col(_sent_name(column)), of).cast(target)
            cases = F.when(F.col("schema_id") == number, typed).otherwise(cases)
        return cases

    def _beyond(self) -> dict[str, Column]:
        """Per column whose type does not hold every value: whether it does not hold this one."""
        found = {name: self._unheld(name) for name in self.shape.names}
        return {_beyond_name(name): is_so for name, is_so in found.items() if is_so is not None}

    def _unheld(self, column: str) -> Column | None:
        """True for a genuine value that the column's type cannot hold; None: it holds all."""
        types = self.shape.columns[column]
        distinct = set(types.values())
        if len(distinct) == 1:
            return values.unheld(F.col(_ready_name(column)), distinct.pop())
        cases: Column | None = None
        for number, of in types.items():
            beyond = values.unheld(values.prepare(F.col(_sent_name(column)), of), of)
            if beyond is not None:
                here = (F.col("schema_id") == number) & F.coalesce(beyond, F.lit(False))
                cases = here if cases is None else cases | here
        return cases

    def _images(self) -> dict[str, Column]:
        """The cells of both images, where the connector's habits have rows compared."""
        rules = self.connector.rules
        keys = {*self._key_columns(), *self.rules.key}
        names = [name for name in self.shape.names if name not in keys]
        if not (rules.shifts or rules.shares):
            return {}
        gone = sorted(spellings(self.rules.placeholder))
        return {
            _cells_name(each): image.cells(F.col(f"v.{each}"), names, gone, self._absent())
            for each in ("before", "after")
        }

    def _absent(self) -> Column | None:
        """The columns that the record's schema does not have; None where each schema has all."""
        schemas = {number for types in self.shape.columns.values() for number in types}
        lacking = {
            name: F.col("schema_id").isin(*(schemas - types.keys()))
            for name, types in self.shape.columns.items()
            if schemas - types.keys()
        }
        return (
            _named([F.when(is_so, F.lit(name)) for name, is_so in lacking.items()])
            if lacking
            else None
        )

    def _compared(self, names: Container[str]) -> list[Column]:
        """`_before, _after, _told`: what tells rows under one key apart."""
        if _cells_name("before") not in names:
            return [image.nothing().alias(name) for name in ("_before", "_after", "_told")]
        before, after = (F.col(quoted(_cells_name(each))) for each in ("before", "after"))
        rules, told = self.connector.rules, image.nothing()
        if rules.shifts and not rules.full_before:
            told = image.compared(image.told(before, self._defaults(), self._texts()))
        return [
            image.compared(before).alias("_before"),
            image.compared(after).alias("_after"),
            told.alias("_told"),
        ]

    def _defaults(self) -> Column | None:
        """The defaults of the columns by name, as each schema has them; None without any."""
        found: Column | None = None
        for number, defaults in self.shape.defaults.items():
            here = F.when(F.col("schema_id") == number, image.literal(defaults))
            found = here if found is None else F.coalesce(here, found)
        return found

    def _texts(self) -> list[str]:
        return [
            name
            for name, types in self.shape.columns.items()
            if all(of.kind is Kind.TEXT for of in types.values())
        ]

    def _content(self, of: str) -> Column:
        """A number for an image's content; a NULL column is as good as one that is not there."""
        cells = F.col(of)
        hashes = [
            F.when(cells.getField(name).isNotNull(), F.xxhash64(F.lit(name), cells.getField(name)))
            for name in self.shape.names
        ]
        if not hashes:
            return F.lit(None).cast("bigint")
        zero = F.lit(0).cast("bigint")
        content = reduce(lambda a, b: a.bitwiseXOR(b), (F.coalesce(h, zero) for h in hashes))
        return F.when(cells.isNotNull(), content)

    # ------------------------------------------------------------------ meta

    def _meta(self, names: Container[str], *, flat: bool) -> list[Column]:
        """The columns of the changes table besides the business columns."""
        source, op = F.col("v.source"), F.col("_op")
        read = (op == "r") & ~F.coalesce(source["snapshot"] == "incremental", F.lit(False))
        last = read & _snapshot() if self.connector.rules.reads_last and not flat else F.lit(False)
        truncate = op == Op.TRUNCATE.value
        phase = F.when(last, Phase.READ.value).otherwise(Phase.ROW.value)
        row_tie = F.concat(phase, place(F.col("offset"), F.col("partition")))
        tie = F.when(truncate, "0" * 16).otherwise(row_tie)
        seq = F.concat(self._epoch(), F.col("_major"), tie)
        best, raw, quality = self._time()
        in_flight = self._in_flight(flat=flat)
        moved = F.col("_moved_to").isNotNull() | F.col("_moved_from").isNotNull()
        kind = F.when(truncate, "fence").when(moved, "move").when(in_flight, IN_FLIGHT)
        at = F.concat_ws(":", "partition", "offset")
        unset = [F.when(self._unset(name), F.lit(name)) for name in self.shape.names]
        beyond = [
            F.when(F.col(quoted(_beyond_name(name))), F.lit(name))
            for name in self.shape.names
            if _beyond_name(name) in names
        ]
        change = op != Op.TOMBSTONE.value
        tx_id = F.coalesce(self.connector.tx_id(source), F.col("v.transaction.id"))
        return [
            F.col("_key"),
            op.alias("_op"),
            F.when(change, seq).otherwise(F.lit("")).alias("_seq"),
            (at if flat else self.connector.position(source)).alias("_position"),
            (F.lit("") if flat else self.connector.link(source)).alias("_link"),
            self._identity(flat=flat).alias("_identity"),
            F.col("_moved_to"),
            F.col("_moved_from"),
            _named(unset).alias("_unset"),
            _named(beyond).alias("_unheld"),
            F.when(change, tx_id).alias("_tx_id"),
            *self._compared(names),
            self.connector.scope(source).alias("_scope"),
            F.when(read & _snapshot(), whole(F.col("v.ts_ms"))).alias("_emitted"),
            self._clock().alias("_clock"),
            (F.lit(False) if flat else self._ordinal().isNotNull()).alias("_numbered"),
            _header(RUN_ID).alias("_connector_run"),
            in_flight.alias("_in_flight"),
            best.alias("_time"),
            raw.alias("_source_ts"),
            quality.alias("_ts_quality"),
            F.col("topic").alias("_topic"),
            F.col("topic_id").alias("_topic_id"),
            F.col("partition").alias("_partition"),
            F.col("offset").alias("_offset"),
            F.lit(self.run).cast("int").alias("_run"),
            kind.otherwise("row").alias("_kind"),
        ]

    def _epoch(self) -> Column:
        """The lineage of the log that a record of that Kafka time belongs to."""
        epoch = F.lit("0000")
        for each in sorted(self.rules.epochs, key=lambda e: e.number):
            since = F.timestamp_millis(F.lit(each.since))
            epoch = F.when(F.col("timestamp") >= since, f"{each.number:04x}").otherwise(epoch)
        return epoch

    def _in_flight(self, *, flat: bool) -> Column:
        found = None if flat else self.connector.in_flight(F.col("v.source"))
        if found is None:
            return F.lit(False)
        return F.coalesce(found & F.col("_op").isin(*STREAMED), F.lit(False))

    def _clock(self) -> Column:
        """Kafka's time of a truncate, the envelope's of a change that may turn out in flight."""
        stored = F.when(F.col("_op") == Op.TRUNCATE.value, F.unix_millis("timestamp"))
        if self.connector.in_flight(F.col("v.source")) is None:
            return stored
        return stored.when(F.col("_op").isin(*STREAMED), whole(F.col("v.ts_ms")))

    def _ordinal(self) -> Column:
        return self.connector.ordinal(F.col("v.source"), F.col("v.transaction"))

    def _identity(self, *, flat: bool) -> Column:
        source = F.col("v.source")
        parts: tuple[Column, ...] = (
            *self.connector.identity(source),
            self._ordinal(),
        )
        if flat:
            place = F.concat_ws(":", "topic_id", "partition", "offset")
            placed = self.connector.major(source).isNotNull()
            parts = (F.when(placed, self.connector.position(source)).otherwise(place),)
        content = [F.col("content:before"), F.col("content:after")]
        named = [F.col(name) for name in ("_op", "_moved_to", "_moved_from")]
        texts = [F.coalesce(part, F.lit(_NOTHING)) for part in (*parts, *named)]
        hashes = [F.coalesce(part, F.lit(0).cast("bigint")) for part in content]
        return F.xxhash64(self._epoch(), *texts, *hashes)

    def _time(self) -> tuple[Column, Column, Column]:
        """(best, raw, quality): the source's time where it is believable, else Kafka's (§5.3)."""
        source = F.col("v.source")
        raw = values.instant(self.connector.micros(source))
        tolerance = F.make_dt_interval(days=F.lit(TOLERANCE.days))
        believable = (raw >= F.lit(EARLIEST)) & (raw <= F.col("timestamp") + tolerance)
        sure = F.coalesce(believable, F.lit(False)) & (F.col("_op") != Op.TOMBSTONE.value)
        streamed = F.when(_snapshot(), TimeQuality.SNAPSHOT.value).otherwise(
            self.connector.quality(source)
        )
        return (
            F.when(sure, raw).otherwise(F.col("timestamp")),
            raw,
            F.when(sure, streamed).otherwise(TimeQuality.KAFKA.value),
        )


def _with(frame: DataFrame, step: Step) -> DataFrame:
    columns = step(frame) if callable(step) else step
    return frame.withColumns(dict(columns))


def _fields(frame: DataFrame, column: str) -> list[str]:
    of = frame.schema[column].dataType
    return of.names if isinstance(of, StructType) else []


def _sent_name(column: str) -> str:
    return f"sent:{column}"


def _ready_name(column: str) -> str:
    return f"ready:{column}"


def _cell(column: str) -> str:
    """A name for the typed cell that no field of a landed record has."""
    return f"cell:{column}"


def _cells_name(of: str) -> str:
    return f"cells:{of}"


def _beyond_name(column: str) -> str:
    return f"beyond:{column}"


def _named(conditional: Sequence[Column]) -> Column:
    """The names that are not NULL, as an array; mostly there are none."""
    none = F.array().cast("array<string>")
    if not conditional:
        return none
    named = F.array_compact(F.array(*conditional)).cast("array<string>")
    return F.when(F.coalesce(*conditional).isNotNull(), named).otherwise(none)


def _unfit(column: str, beyond: bool) -> Column:  # noqa: FBT001
    missing = F.col(quoted(_sent_name(column))).isNotNull() & F.col(quoted(_cell(column))).isNull()
    if not beyond:
        return missing
    return missing & ~F.coalesce(F.col(quoted(_beyond_name(column))), F.lit(False))


def _text(cells: Mapping[str, Column], types: Mapping[str, ColumnType]) -> Column:
    """Canonical JSON of a key's cells; NULL where one is null or no value of its type."""
    typed = {name: values.decode(cells[name], of) for name, of in types.items()}
    unfit = (typed[name].isNull() for name in types)  # also where the cell is null
    text = F.to_json(
        F.struct(*(values.text(typed[name], of).alias(name) for name, of in types.items()))
    )
    return F.when(~reduce(lambda a, b: a | b, unfit), text)


def _header(name: str) -> Column:
    """The text of the last header of that name."""
    headers = F.col("headers")
    found = F.filter(headers, lambda header: header["key"] == name)
    text = F.try_element_at(found, F.lit(-1))["value"].cast("string")
    # Mostly there is none: that is soon told by the names alone.
    return F.when(F.array_contains(headers["key"], name), text)


def _snapshot() -> Column:
    return ~F.coalesce(F.col("v.source.snapshot"), F.lit("false")).isin("false", "null")


def _op() -> Column:
    """The operation; a create that a snapshot sent is a read, a missing value a tombstone."""
    read = (F.col("v.op") == Op.CREATE.value) & _snapshot()
    gone = F.col("value").isNull() | (F.trim("value_payload") == "null")
    return F.when(gone, Op.TOMBSTONE.value).when(read, Op.READ.value).otherwise(F.col("v.op"))


def _loosely(payload: Column) -> Column:
    """A document that is no envelope, read part by part to say which part is wrong."""
    parts = "op STRING, source STRING, after STRING, before STRING, _corrupt STRING"
    return F.struct(
        F.from_json(payload, parts, _STRICT).alias("parts"),
        F.try_parse_json(payload).isNotNull().alias("valid"),
    )
