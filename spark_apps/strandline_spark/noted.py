"""What a run leaves with its commit of a history, for the next one to go on from."""

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field

from pyspark.sql import SparkSession

from strandline.changes.rekeyed import Identity, identity
from strandline.runs.lake import SourceLake
from strandline.runs.manifest import TableCut
from strandline.runs.receipt import Counts, TableReceipt
from strandline_spark import changes, delta, heads, servers
from strandline_spark.in_flight import Spans


@dataclass(frozen=True, slots=True)
class Noted:
    """The run's receipt, and the rare kinds of changes that the table has had (`changes.kinds`).

    `waiting` are the halves of key moves whose other half has not come: how many, by what stands
    for the two keys (`link.pair`). `keys` are the places of the last changes under each key that
    rows have had, without a place where that is but one; None where nobody has looked. `tags`:
    whose changes they are (`servers.tag`); of several servers and epochs two at least. `spans`: the
    transactions that go on behind reads of a snapshot, None where nobody has looked. `told`: the
    last run whose control records the history knows, None where an earlier release wrote it.
    `forgotten`: versions that ended before are no longer kept (an ISO-8601 instant).
    """

    receipt: TableReceipt
    kinds: frozenset[str]
    waiting: Mapping[str, int] = field(default_factory=dict)
    keys: Mapping[Identity, str] | None = None
    tags: frozenset[str] = frozenset()
    spans: Spans | None = None
    told: int | None = None
    forgotten: str | None = None

    @property
    def totals(self) -> Mapping[str, int]:
        """How many versions the history has, and how many of them are open, as fields of counts."""
        counts = self.receipt.counts
        return {"history_rows": counts.history_rows, "current_rows": counts.current_rows}

    @property
    def orphans(self) -> int:
        """How many halves of key moves wait for the other."""
        return sum(self.waiting.values())

    def text(self) -> str:
        """As JSON."""
        keys = None if self.keys is None else [[*of, at] for of, at in sorted(self.keys.items())]
        told = {
            "receipt": asdict(self.receipt),
            "kinds": sorted(self.kinds),
            "waiting": dict(self.waiting),
            "told": self.told,
            "keys": keys,
            "tags": sorted(self.tags),
            "spans": None if self.spans is None else self.spans.as_json(),
            "forgotten": self.forgotten,
        }
        return json.dumps(told)

    @staticmethod
    def from_text(text: str) -> "Noted | None":
        """What `text` wrote; None where it was written by a release that noted less."""
        told = json.loads(text)
        if "kinds" not in told:
            return None
        counts = Counts(**told["receipt"].pop("counts"))
        receipt = TableReceipt(counts=counts, **told["receipt"])
        waiting, tags = told.get("waiting", {}), frozenset(told.get("tags", ()))
        noted = told.get("keys")
        keys = None if noted is None else {identity(table, of): at for table, of, at in noted}
        spans = Spans.from_json(told.get("spans"))
        return Noted(
            receipt,
            frozenset(told["kinds"]),
            waiting,
            keys,
            tags,
            spans,
            told.get("told"),
            told.get("forgotten"),
        )


def of_run(spark: SparkSession, history: str, run: int) -> Noted | None:
    """What a run noted that has committed to the history at the path."""
    return Noted.from_text(delta.metadata(spark, history, run))


def before_run(spark: SparkSession, history: str, run: int) -> tuple[int, Noted | None]:
    """The last run before it and what that noted; the run itself where the log has none."""
    left = (one for one in delta.texts(spark, history) if one[0] < run)
    number, text = next(left, (run, None))
    return number, None if text is None else Noted.from_text(text)


def last(spark: SparkSession, lake: SourceLake, cut: TableCut) -> Noted:
    """What the last run noted of a table; found out anew where the log has lost it."""
    history = lake.history(cut.table)
    left = next(delta.texts(spark, history), None)
    noted = None if left is None else Noted.from_text(left[1])
    if noted is not None:
        return noted
    receipt = TableReceipt(cut.table, cut.topic, heads.totals(delta.read(spark, history)))
    every = delta.read(spark, lake.changes(cut.table))
    return Noted(receipt, changes.kinds(every), tags=servers.tags(every))
