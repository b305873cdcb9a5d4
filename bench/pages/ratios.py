"""The ratios that say whether a run costs what arrived, with what they have to be."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from statistics import median

from bench.result import Result
from bench.workloads import Workload

Measure = Callable[[Result, Sequence[dict[str, float]]], float]


def time(_: Result, batches: Sequence[dict[str, float]]) -> float:
    """Seconds of a batch."""
    return median(batch["seconds"] for batch in batches)


def read(_: Result, batches: Sequence[dict[str, float]]) -> float:
    """Bytes that a batch has read."""
    return median(batch["read"] for batch in batches)


def growth(_: Result, batches: Sequence[dict[str, float]]) -> float:
    """Bytes by which the lake has grown."""
    return median(batch["grown"] for batch in batches)


def volume(_: Result, batches: Sequence[dict[str, float]]) -> float:
    """Bytes of the rows that a batch makes or ends."""
    return median(batch["changed"] for batch in batches)


def memory(result: Result, _: Sequence[dict[str, float]]) -> float:
    """The most bytes of memory at once."""
    return result.peak


def application(result: Result, batches: Sequence[dict[str, float]]) -> float:
    """Seconds of the whole application, its start included."""
    return result.started + batches[0]["seconds"]


@dataclass(frozen=True, slots=True)
class Side:
    """One side of a ratio: a contender on the first or last case of a workload, and what of it."""

    contender: str
    group: str
    case: int = -1
    measure: Measure = time

    def of(self, workload: Workload, results: Sequence[Result]) -> dict[int, float]:
        """The measure by round."""
        label = list(workload.shapes)[self.case]
        counted = set(workload.counted[self.group])
        return {
            result.round: self.measure(
                result, [b for b in result.batches if (b["lap"], b["batch"]) in counted]
            )
            for result in results
            if (result.workload, result.label, result.contender)
            == (workload.name, label, self.contender)
        }


@dataclass(frozen=True, slots=True)
class Ratio:
    """`above` / `below`, both of one round; the median over the rounds is what is reported."""

    told: str
    workload: str
    above: Side
    below: Side
    least: str
    aim: str

    def measured(self, workload: Workload, results: Sequence[Result]) -> float | None:
        """The ratio; None where a side did not take part."""
        above, below = self.above.of(workload, results), self.below.of(workload, results)
        rounds = above.keys() & below.keys()
        return median(above[each] / below[each] for each in rounds) if rounds else None


_OWN = Side("strandline", "batch")

RATIOS = (
    Ratio(
        "bulk: MERGE by hand / Strandline",
        "bulk", Side("merge", "warm"), Side("strandline", "warm"), "1.5", "2.5",
    ),
    Ratio(
        "the same, first in its process",
        "bulk", Side("merge", "cold"), Side("strandline", "cold"), "1.5", "2.2",
    ),
    Ratio(
        "bulk: Strandline / Spark's decode, window, write",
        "bulk", Side("strandline", "warm"), Side("spark-append", "warm"), "≤ 1.6", "≤ 1.0",
    ),
    Ratio(
        "bulk: lake after it / that of the MERGE",
        "bulk",
        Side("strandline", "warm", measure=growth), Side("merge", "warm", measure=growth),
        "≤ 2.2", "≤ 1.6",
    ),
    Ratio(
        "bulk: peak memory / that of the MERGE",
        "bulk",
        Side("strandline", "warm", measure=memory), Side("merge", "warm", measure=memory),
        "≤ 1.1", "0.8",
    ),
    Ratio(
        "increment onto the long history: MERGE by hand / Strandline",
        "increment", Side("merge", "batch"), _OWN, "2.2", "3.5",
    ),
    Ratio(
        "the same without deletion vectors",
        "increment", Side("merge-no-dv", "batch"), _OWN, "4", "7",
    ),
    Ratio(
        "increment: Strandline / decode and append",
        "increment", _OWN, Side("spark-append", "batch"), "≤ 3", "≤ 2",
    ),
    Ratio(
        "increment: long history / short one, time",
        "increment", _OWN, Side("strandline", "batch", 0), "≤ 1.05", "1.0",
    ),
    Ratio(
        "increment: long history / short one, bytes read",
        "increment",
        Side("strandline", "batch", measure=read), Side("strandline", "batch", 0, read),
        "≤ 1.05", "1.0",
    ),
    Ratio(
        "an increment onto ten times the history: time",
        "long", _OWN, Side("strandline", "batch", 0), "≤ 1.1", "1.0",
    ),
    Ratio(
        "few changes onto the long history, in empty commits",
        "increment", Side("strandline", "few"), Side("empty-commit", "few"), "≤ 10", "≤ 6",
    ),
    Ratio(
        "increment: bytes by which the lake grows / bytes of new and ended rows",
        "increment",
        Side("strandline", "batch", measure=growth),
        Side("strandline", "batch", measure=volume),
        "≤ 1.4", "≤ 1.1",
    ),
    Ratio(
        "1 % late changes / none",
        "late", Side("strandline", "batch", 1), Side("strandline", "batch", 0), "≤ 1.3", "1.1",
    ),
    Ratio(
        "10 % late changes / none",
        "late", Side("strandline", "batch", 2), Side("strandline", "batch", 0), "≤ 1.6", "1.3",
    ),
    Ratio(
        "a truncate in the batch: MERGE by hand, which drops it / Strandline",
        "truncate", Side("merge", "truncate"), Side("strandline", "truncate"), "1.3", "2",
    ),
    Ratio(
        "millions of changes of one key / as many of many keys",
        "extremes", Side("strandline", "cold", 0), Side("strandline", "cold", -1), "≤ 1.5", "1.0",
    ),
    Ratio(
        "landing: rate / that of a bare loop of consume",
        "landing", Side("consume", "warm"), Side("strandline", "warm"), "0.6", "0.8",
    ),
    Ratio(
        "a run of the last day / one of the first",
        "runs", Side("strandline", "last day"), Side("strandline", "first day"), "≤ 1.2", "1.0",
    ),
    Ratio(
        "one small table / an application that counts to one",
        "fifty",
        Side("strandline", "cold", 0, application),
        Side("application", "cold", 0, application),
        "≤ 1.6", "≤ 1.2",
    ),
    Ratio(
        "fifty small tables / one, whole applications",
        "fifty",
        Side("strandline", "cold", 1, application),
        Side("strandline", "cold", 0, application),
        "≤ 2", "≤ 1.4",
    ),
    Ratio(
        "fifty MERGEs by hand in one application / fifty small tables",
        "fifty",
        Side("merge-few", "cold", 1, application),
        Side("strandline", "cold", 1, application),
        "6", "12",
    ),
    Ratio(
        "300 small tables / fifty, whole applications",
        "fifty",
        Side("strandline", "cold", 2, application),
        Side("strandline", "cold", 1, application),
        "≤ 5", "≤ 4",
    ),
    Ratio(
        "bulk on a cluster: one executor of one core / two",
        "cores", Side("one-executor", "bulk"), Side("two-executors", "bulk"), "1.6", "1.8",
    ),
    Ratio(
        "increment on a cluster: one executor of one core / two",
        "cores", Side("one-executor", "increment"), Side("two-executors", "increment"),
        "1.6", "1.8",
    ),
)  # fmt: skip
