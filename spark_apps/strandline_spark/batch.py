"""What arrived for one table in a run: decoded, counted, and put on record."""

from collections.abc import Iterable, Mapping
from contextlib import nullcontext
from dataclasses import dataclass
from typing import Any

from pyspark.sql import Column, DataFrame, Observation
from pyspark.sql import functions as F

from strandline.changes.rules import TableRules
from strandline.formats import connect
from strandline_spark import changes, delta, documents, intake, landing, observed, servers, verdict
from strandline_spark.checkpoint import kept
from strandline_spark.definitions import Apart
from strandline_spark.distinct import STREAMED
from strandline_spark.documents import SchemaPair
from strandline_spark.part import Part
from strandline_spark.reading import Reading
from strandline_spark.shape import Known
from strandline_spark.single import single

QUARANTINE = (
    "table STRING, topic STRING, topic_id STRING, partition INT, offset BIGINT, "
    "timestamp TIMESTAMP, key BINARY, value BINARY, "
    "headers ARRAY<STRUCT<key: STRING, value: BINARY>>, "
    "record_key STRING, reason STRING, detail STRING, run INT"
)


@dataclass(frozen=True, slots=True)
class Tally:
    """What the records of a batch turned out to be, as counted in the pass that decodes them.

    Two tags (`servers.tag`) where changes and truncates are of several servers or epochs. `lowest`:
    the first position of what is no read, as a `_seq`.
    """

    landed: int = 0
    changes: int = 0
    fences: int = 0
    tombstones: int = 0
    control: int = 0
    quarantined: int = 0
    moves: int = 0
    reads: int = 0
    in_flight: int = 0
    first_tag: str | None = None
    last_tag: str | None = None
    lowest: str | None = None

    @property
    def kinds(self) -> frozenset[str]:
        """The kinds of changes in the batch, as `changes.kinds` names them."""
        counted = {"fence": self.fences, "move": self.moves, changes.IN_FLIGHT: self.in_flight}
        return frozenset(kind for kind, number in counted.items() if number)

    @property
    def tags(self) -> frozenset[str]:
        """Servers and epochs: all of them, or two of several."""
        return frozenset(tag for tag in (self.first_tag, self.last_tag) if tag is not None)


@dataclass(frozen=True, slots=True)
class Batch:
    """What arrived: its tally and, unless it is large, its changes, kept.

    `keys` are the columns, by name, of which its records' keys may consist.
    """

    tally: Tally
    changes: DataFrame | None
    keys: frozenset[tuple[str, ...]] = frozenset()


NOTHING = Batch(Tally(), None)


def arrived(part: Part) -> Batch:
    """Decodes the part's records; stores its changes, and in quarantine what can't be read."""
    with nullcontext() if part.small else landing.spread(part.spark):
        return _arrived(part)


def _arrived(part: Part) -> Batch:
    path = part.lake.changes(part.cut.table)
    decoded, columns, keys = _decoded(part)
    if part.small:
        decoded = kept(decoded)
    counted: Mapping[str, Any] | None = None
    if delta.applied(part.spark, path) < part.run:
        seen = Observation(f"decode {part.cut.table}")
        changes.store(decoded.observe(seen, *_tallied()), path, columns, part.run)
        counted = observed.told(part.spark, seen)
    stored = counted is None  # by an attempt before this one, or by another process
    if counted is None:
        counted = single(decoded.agg(*_tallied())).asDict()
    tally = Tally(**counted)
    if tally.quarantined:
        _quarantine(part, decoded)
    if stored or not part.small:
        return Batch(tally, None, keys)
    return Batch(tally, changes.like(decoded, delta.read(part.spark, path).schema), keys)


def _decoded(part: Part) -> tuple[DataFrame, list[str], frozenset[tuple[str, ...]]]:
    """The landed records, decoded, the columns of the table after them, and those of keys."""
    if part.shared is None:
        parsed, schemas = intake.parsed(part.landed(), part.cut)
    else:
        parsed, schemas = part.shared.of(part.spark, part.cut)
    parsed, schemas = documents.by_key_form(parsed, schemas)
    path, rules = part.lake.changes(part.cut.table), part.cut.rules
    apart = Apart(
        part.connector,
        rules,
        part.announced.history,
        part.cut.topic,
        lambda: changes.scope(part.spark, path),
    )
    told = apart.told(parsed, schemas)
    stored = changes.stored(part.spark, path)
    known = Known(rules, stored.types, told.definitions, stored.written)
    reading = Reading(told.records, told.schemas, part.connector, known, part.run)
    return *reading.decoded(), _keys(told.schemas.values(), rules)


def _keys(schemas: Iterable[SchemaPair], rules: TableRules) -> frozenset[tuple[str, ...]]:
    found = (connect.fields(pair.key) if pair.key else pair.key_names for pair in schemas)
    return frozenset(tuple(names) for names in (*found, rules.key) if names)


def _quarantine(part: Part, decoded: DataFrame) -> None:
    rows = decoded.where(F.col("_verdict") == verdict.QUARANTINED).select(
        F.lit(part.cut.table).alias("table"),
        "_record.*",
        F.col("_key").alias("record_key"), F.col("_reason").alias("reason"),
        F.col("_detail").alias("detail"), F.lit(part.run).alias("run"),
    )  # fmt: skip
    delta.append(rows, part.lake.quarantine, part.run, f"{delta.APPLICATION}/{part.cut.table}")


def _tallied() -> list[Column]:
    kind = F.col("_verdict")
    of = {
        "changes": kind == verdict.CHANGE,
        "fences": kind == verdict.FENCE,
        "tombstones": kind == verdict.TOMBSTONE,
        "control": kind == verdict.CONTROL,
        "quarantined": kind == verdict.QUARANTINED,
        "moves": (kind == verdict.CHANGE) & (F.col("_kind") == "move"),
        "reads": F.col("_emitted").isNotNull(),
        "in_flight": F.col("_in_flight") & (kind != verdict.QUARANTINED),
    }
    tag = F.when(kind.isin(verdict.CHANGE, verdict.FENCE), servers.tag(F.col("_scope")))
    streamed = kind.isin(verdict.CHANGE, verdict.FENCE) & F.col("_op").isin(*STREAMED)
    return [
        F.count(F.lit(1)).alias("landed"),
        *(F.count_if(condition).alias(name) for name, condition in of.items()),
        F.min(tag).alias("first_tag"),
        F.max(tag).alias("last_tag"),
        F.min(F.when(streamed, F.col("_seq"))).alias("lowest"),
    ]
