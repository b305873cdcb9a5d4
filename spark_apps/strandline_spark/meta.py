"""What a change says besides its row: where and when it stands, what tells it from others."""

from collections.abc import Container, Sequence
from dataclasses import dataclass

from pyspark.sql import Column
from pyspark.sql import functions as F

from strandline.cells.placeholder import spellings
from strandline.cells.types import Kind, Wire
from strandline.changes.change import Op
from strandline.changes.position import MOST_ORDINAL, NO_PARTITION, Phase
from strandline.changes.rules import TableRules
from strandline.changes.version import TimeQuality
from strandline.law.decode.event import EARLIEST, TOLERANCE
from strandline.law.decode.general import ROUTED
from strandline_spark import image, values
from strandline_spark.cells import Cells
from strandline_spark.changes import IN_FLIGHT
from strandline_spark.connectors import Connector
from strandline_spark.connectors.connector import known, whole
from strandline_spark.distinct import STREAMED, place
from strandline_spark.envelopes import is_of_snapshot
from strandline_spark.keys import Keys
from strandline_spark.servers import scope_of
from strandline_spark.shape import Shape

_SENT_AS_TEXT = (Wire.PLAIN, Wire.JSON_TEXT)
_NOTHING = "\x00"  # stands for NULL inside hashes, where NULL would leave no trace


@dataclass(frozen=True, slots=True)
class Meta:
    """The meta columns of one batch of one table.

    `flat`: whether ExtractNewRecordState made the records, so that they have no positions.
    """

    shape: Shape
    connector: Connector
    rules: TableRules
    run: int
    flat: bool

    @property
    def cells(self) -> Cells:
        return Cells(self.shape, self.connector, self.rules)

    def columns(self, names: Container[str]) -> list[Column]:
        """The columns of the changes table besides the business columns."""
        source, op = F.col("v.source"), F.col("_op")
        read = (op == "r") & ~F.coalesce(source["snapshot"] == "incremental", F.lit(False))
        last = F.lit(False)
        if self.connector.rules.reads_last and not self.flat:
            last = read & is_of_snapshot()
        truncate = op == Op.TRUNCATE.value
        phase = F.when(last, Phase.READ.value).otherwise(Phase.ROW.value)
        row_tie = F.concat(phase, self._place())
        tie = F.when(truncate, "0" * 16).otherwise(row_tie)
        seq = F.concat(epoch(self.rules), F.col("_major"), tie)
        best, raw, quality = self._time()
        in_flight = self._in_flight()
        moved = F.col("_moved_to").isNotNull() | F.col("_moved_from").isNotNull()
        kind = F.when(truncate, "fence").when(moved, "move")
        if self.connector.rebases:
            kind = kind.when(in_flight, IN_FLIGHT)
        at = F.concat_ws(":", "partition", "offset")
        unset = [F.when(self.cells.is_unset(name), F.lit(name)) for name in self.shape.names]
        held_not = ((name, self.cells.unheld(name, names)) for name in self.shape.names)
        beyond = [F.when(so, F.lit(name)) for name, so in held_not if so is not None]
        change = op != Op.TOMBSTONE.value
        tx_id = F.coalesce(self.connector.tx_id(source), F.col("v.transaction.id"))
        link = F.lit("") if self.flat else self.connector.link(source)
        return [
            F.col("_key"),
            op.alias("_op"),
            F.when(change, seq).otherwise(F.lit("")).alias("_seq"),
            (at if self.flat else self.connector.position(source)).alias("_position"),
            F.when(change, link).otherwise(F.lit("")).alias("_link"),
            self._identity().alias("_identity"),
            self._local().alias("_local"),
            F.col("_moved_to"),
            F.col("_moved_from"),
            _named(unset).alias("_unset"),
            _named(beyond).alias("_unheld"),
            F.when(change, tx_id).alias("_tx_id"),
            *self._compared(),
            self._scope().alias("_scope"),
            F.when(read & is_of_snapshot(), whole(F.col("v.ts_ms"))).alias("_emitted"),
            F.when(read & is_of_snapshot(), known(source["name"])).alias("_connector_name"),
            self._clock().alias("_clock"),
            F.unix_millis("timestamp").alias("_stored"),
            (F.lit(None).cast("string") if self.flat else self._ordinal()).alias("_ordinal"),
            F.col("run_id").alias("_connector_run"),
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

    def _place(self) -> Column:
        """The record's place in Kafka; of one without a key its number inside its transaction."""
        own = place(F.col("offset"), F.col("partition"))
        if self.flat or not self.rules.key:
            return own
        ordinal = self._ordinal()
        fits = F.col("key").isNull() & ordinal.rlike(rf"^[0-9]{{1,{MOST_ORDINAL}}}$")
        number = F.lower(F.lpad(F.hex(ordinal.try_cast("bigint")), 11, "0"))
        return F.when(fits, F.concat(number, F.lit(NO_PARTITION))).otherwise(own)

    def _scope(self) -> Column:
        source, routed = F.col("v.source"), F.lit(False)
        if ROUTED in Keys(self.shape, self.connector, self.rules).names:
            routed = F.col("k").getField(ROUTED).isNotNull()
        table, server = self.connector.scope(source), known(source["name"])
        return scope_of(epoch(self.rules), server, table, routed)

    def _local(self) -> Column:
        """The place in a shard's log: of rows, and of truncates that nothing else orders."""
        source = F.col("v.source")
        own = None if self.flat else self.connector.local(source)
        if own is None:
            return F.lit(None).cast("string")
        placed = (F.col("_op") == Op.TRUNCATE.value) & (
            F.col("_major") == self.connector.major(source)
        )
        return F.when(~placed, own)

    def _in_flight(self) -> Column:
        found = None if self.flat else self.connector.in_flight(F.col("v.source"))
        if found is None:
            return F.lit(False)
        return F.coalesce(found & F.col("_op").isin(*STREAMED), F.lit(False))

    def _clock(self) -> Column:
        """The envelope's time of a change that may turn out in flight."""
        if self.connector.in_flight(F.col("v.source")) is None:
            return F.lit(None).cast("bigint")
        return F.when(F.col("_op").isin(*STREAMED), whole(F.col("v.ts_ms")))

    def _ordinal(self) -> Column:
        return self.connector.ordinal(F.col("v.source"), F.col("v.transaction"))

    def _identity(self) -> Column:
        source = F.col("v.source")
        parts: tuple[Column, ...] = tuple(self.connector.identity(source))
        if self.flat:
            place = F.concat_ws(":", "topic_id", "partition", "offset")
            placed = self.connector.major(source).isNotNull()
            for name in self.connector.rules.apart:
                placed &= known(source[name]).isNotNull()
            parts = (*(F.when(placed, part) for part in parts), F.when(~placed, place))
        content = [F.col("content:before"), F.col("content:after")]
        named = [F.col(name) for name in ("_op", "_moved_to", "_moved_from")]
        texts = [F.coalesce(part, F.lit(_NOTHING)) for part in (*parts, *named)]
        hashes = [F.coalesce(part, F.lit(0).cast("bigint")) for part in content]
        return F.xxhash64(epoch(self.rules), *texts, *hashes)

    def _time(self) -> tuple[Column, Column, Column]:
        """(best, raw, quality): the source's time where it is believable, else Kafka's.

        Which are believed: docs/facts/order.md, "Times".
        """
        source = F.col("v.source")
        raw = values.instant(self.connector.micros(source))
        tolerance = F.make_dt_interval(days=F.lit(TOLERANCE.days))
        kafka = F.col("timestamp")
        # A record may have no time of Kafka's: then the source's is all that there is.
        early = (raw <= kafka + tolerance) | (kafka < F.lit(EARLIEST))
        believable = (raw >= F.lit(EARLIEST)) & early
        sure = F.coalesce(believable, F.lit(False)) & (F.col("_op") != Op.TOMBSTONE.value)
        streamed = F.when(is_of_snapshot(), TimeQuality.SNAPSHOT.value).otherwise(
            self.connector.quality(source)
        )
        return (
            F.when(sure, raw).otherwise(F.col("timestamp")),
            raw,
            F.when(sure, streamed).otherwise(TimeQuality.KAFKA.value),
        )

    # ------------------------------------------------------------------ images

    def _compared(self) -> list[Column]:
        """`_before, _after, _told`: what tells rows under one key apart, if anything does."""
        rules, told = self.connector.rules, image.nothing()
        if not (rules.shifts or rules.shares):
            return [image.nothing().alias(name) for name in ("_before", "_after", "_told")]
        before, after = F.col("v.before"), F.col("v.after")
        if rules.shifts and not rules.full_before:
            says = image.certain(self._held(before), self._defaults(), self._texts())
            told = F.when(before.isNotNull(), says)
        return [
            F.when(before.isNotNull(), image.compared(self._held(before))).alias("_before"),
            F.when(after.isNotNull(), image.compared(self._held(after))).alias("_after"),
            told.alias("_told"),
        ]

    def _held(self, row: Column) -> image.Cells:
        """The cells of an image outside the key, and whether they were sent."""
        keys = {*Keys(self.shape, self.connector, self.rules).names, *self.rules.key}
        gone, lacking = sorted(spellings(self.rules.placeholder)), self._lacking()
        held = {}
        for name in (each for each in self.shape.sent if each not in keys):
            cell = row.getField(name)
            sent = ~F.coalesce(cell.isin(*gone), F.lit(False))
            held[name] = (cell, sent & ~lacking[name] if name in lacking else sent)
        return held

    def _lacking(self) -> dict[str, Column]:
        """Whether the record's schema lacks a column, of those that some schema does."""
        schemas = {number for types in self.shape.columns.values() for number in types}
        return {
            name: F.col("schema_id").isin(*(schemas - types.keys()))
            for name, types in self.shape.columns.items()
            if schemas - types.keys()
        }

    def _defaults(self) -> dict[str, Column]:
        """What the defaults of the columns are, as each schema has them."""
        found: dict[str, Column] = {}
        for number, defaults in self.shape.defaults.items():
            for name, default in defaults.items():
                here = F.when(F.col("schema_id") == number, default)
                found[name] = F.coalesce(found[name], here) if name in found else here
        return found

    def _texts(self) -> list[str]:
        """The columns whose cells are sent as texts; other kinds of text are made of documents."""
        return [
            name
            for name, types in self.shape.columns.items()
            if all(of.kind is Kind.TEXT and of.wire in _SENT_AS_TEXT for of in types.values())
        ]


def epoch(rules: TableRules) -> Column:
    """The lineage of the log that a record of that Kafka time belongs to."""
    found = F.lit("0000")
    for each in sorted(rules.epochs, key=lambda e: e.number):
        since = F.timestamp_millis(F.lit(each.since))
        found = F.when(F.col("timestamp") >= since, f"{each.number:04x}").otherwise(found)
    return found


def _named(conditional: Sequence[Column]) -> Column:
    """The names that are not NULL, as an array; mostly there are none."""
    none = F.array().cast("array<string>")
    if not conditional:
        return none
    named = F.array_compact(F.array(*conditional)).cast("array<string>")
    return F.when(F.coalesce(*conditional).isNotNull(), named).otherwise(none)
