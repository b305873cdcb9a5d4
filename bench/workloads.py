"""The workloads: which cases, who takes part, and which batches count."""

from collections.abc import Mapping
from dataclasses import dataclass

from bench.cases.stream import Batch, Shape

RUNS = ("runs", "wide")  # what `bench.tasks.runs` races
A_DAY = 48  # runs of a source that is compacted every half hour

EVERYBODY = ("strandline", "merge", "merge-no-dv", "spark-append")


@dataclass(frozen=True, slots=True)
class Sizes:
    """How large everything is; the defaults are those of `make bench`."""

    keys: int = 500_000
    bulk: int = 2_000_000
    histories: tuple[int, ...] = (1_000_000, 10_000_000)
    batch: int = 50_000
    few: int = 100
    measured: int = 3  # batches that count, after one that warms up
    tables: int = 50
    table_keys: int = 500
    table_batch: int = 200
    landed: int = 200_000
    runs: int = 2_000
    run_batch: int = 20
    whole: int = 20_000_000
    wide: int = 500
    times: int = 10
    hot: int = 5_000_000
    transaction: int = 1_000_000
    large: int = 100
    letters: int = 10_000_000
    schemas: bool = False


@dataclass(frozen=True, slots=True)
class Workload:
    """Cases by label, contenders, and what they do.

    Each of the `laps` applies its batches in a fresh copy of the history after the base, one lap
    after the other in one process. `counted` names groups of (lap, batch) whose times are compared;
    what is in none of them warms up. `left_out` are cases that a contender is spared.
    """

    name: str
    told: str
    shapes: Mapping[str, Shape]
    contenders: tuple[str, ...]
    laps: tuple[tuple[int, ...], ...]
    counted: Mapping[str, tuple[tuple[int, int], ...]]
    left_out: frozenset[tuple[str, str]] = frozenset()


def workloads(sizes: Sizes) -> dict[str, Workload]:
    """All workloads by name."""
    made = (
        _bulk, _increment, _long, _late, _truncate, _fifty, _landing, _runs, _wide, _whole,
        _extremes, _cores,
    )  # fmt: skip
    every = [make(sizes) for make in made]
    return {workload.name: workload for workload in every}


def _bulk(sizes: Sizes) -> Workload:
    shape = Shape(keys=sizes.keys, batches=(Batch(sizes.bulk),), schemas=sizes.schemas)
    return Workload(
        "bulk",
        f"{sizes.bulk:,} changes of {sizes.keys:,} keys into nothing; the second time counts",
        {"": shape},
        ("strandline", "merge", "auto-cdc", "spark-append", "duckdb"),
        ((1,), (1,)),
        {"cold": ((0, 1),), "warm": ((1, 1),)},
    )


def _increment(sizes: Sizes) -> Workload:
    """Batches of both sizes follow each other onto one history, so it is made only once."""
    each = 1 + sizes.measured
    batches = (*(Batch(sizes.batch, inserts=0.02),) * each, *(Batch(sizes.few),) * each)
    shapes = {
        f"{versions:,}": Shape(
            keys=sizes.keys, batches=batches, base=versions, deletes=0.01, schemas=sizes.schemas
        )
        for versions in sizes.histories
    }
    numbers = range(1, 2 * each + 1)
    return Workload(
        "increment",
        f"{sizes.batch:,} changes onto a long history, then {sizes.few} onto the same",
        shapes,
        (*EVERYBODY, "auto-cdc", "empty-commit"),
        (tuple(numbers),),
        {
            "batch": tuple((0, number) for number in numbers[1:each]),
            "few": tuple((0, number) for number in numbers[each + 1 :]),
        },
    )


def _long(sizes: Sizes) -> Workload:
    """The same base twice, the second time behind many more closed versions of its keys."""
    base, each = sizes.histories[-1], 1 + sizes.measured
    shapes = {
        f"{times * base:,}": Shape(
            keys=sizes.keys,
            batches=(Batch(sizes.batch, inserts=0.02),) * each,
            base=base,
            repeated=times - 1,
            deletes=0.01,
            schemas=sizes.schemas,
        )
        for times in (1, sizes.times)
    }
    return Workload(
        "long",
        f"{sizes.batch:,} changes onto a history of {base:,} changes, and onto one of "
        f"{sizes.times} times as many",
        shapes,
        ("strandline",),
        (tuple(range(1, each + 1)),),
        {"batch": tuple((0, number) for number in range(2, each + 1))},
    )


def _late(sizes: Sizes) -> Workload:
    """Late changes come on top of a batch; the one without them is the measure."""
    shares = {"none": 0.0, "1 %": 0.01, "10 %": 0.1}
    each = 1 + sizes.measured
    shapes = {
        label: Shape(
            keys=sizes.keys,
            batches=(Batch(sizes.batch, late=share),) * each,
            base=sizes.histories[0],
            deletes=0.01,
            schemas=sizes.schemas,
        )
        for label, share in shares.items()
    }
    return Workload(
        "late",
        f"{sizes.batch:,} changes onto {sizes.histories[0]:,}, and late ones besides",
        shapes,
        ("strandline", "merge"),
        (tuple(range(1, each + 1)),),
        {"batch": tuple((0, number) for number in range(2, each + 1))},
    )


def _truncate(sizes: Sizes) -> Workload:
    """Every second batch holds a truncate, which ends all rows; the others fill the table again."""
    plain, cut = Batch(sizes.batch), Batch(sizes.batch, truncates=1)
    count = 2 * (1 + sizes.measured)
    shape = Shape(
        keys=sizes.keys,
        batches=(plain, cut) * (count // 2),
        base=sizes.histories[0],
        deletes=0.01,
        schemas=sizes.schemas,
    )
    return Workload(
        "truncate",
        f"{sizes.batch:,} changes onto {sizes.histories[0]:,}, a truncate among them",
        {"": shape},
        ("strandline", "merge"),
        (tuple(range(1, count + 1)),),
        {"truncate": tuple((0, number) for number in range(4, count + 1, 2))},
    )


def _fifty(sizes: Sizes) -> Workload:
    """Whole applications count here, from the start of the process to the last table's commit."""

    def shape(tables: int) -> Shape:
        return Shape(
            keys=sizes.table_keys,
            batches=(Batch(sizes.table_batch, inserts=0.02),) * 2,
            base=4 * sizes.table_keys,
            tables=tables,
            schemas=sizes.schemas,
        )

    some, many = str(sizes.tables), str(6 * sizes.tables)
    return Workload(
        "fifty",
        f"{sizes.table_batch} changes for each of {some} small tables, for {many} and for one",
        {"one": shape(1), some: shape(sizes.tables), many: shape(6 * sizes.tables)},
        ("strandline", "application", "merge-few"),
        ((1, 2),),
        {"cold": ((0, 1),), "warm": ((0, 2),)},
        frozenset(
            {
                (some, "application"),
                (many, "application"),
                ("one", "merge-few"),
                (many, "merge-few"),
            }
        ),
    )


def _extremes(sizes: Sizes) -> Workload:
    """What grows without bound elsewhere: here the peak of memory is what counts."""
    hot = Shape(keys=1, batches=(Batch(sizes.hot),), schemas=sizes.schemas)
    one = Shape(
        keys=sizes.transaction,
        batches=(Batch(sizes.transaction),),
        transaction=100 * sizes.transaction,
        schemas=sizes.schemas,
    )
    large = Shape(
        keys=sizes.large,
        batches=(Batch(sizes.large),),
        letters=sizes.letters,
        schemas=sizes.schemas,
    )
    many = Shape(keys=sizes.hot // 5, batches=(Batch(sizes.hot),), schemas=sizes.schemas)
    return Workload(
        "extremes",
        f"{sizes.hot:,} changes of one key and of many, {sizes.transaction:,} in one transaction, "
        f"{sizes.large} with {sizes.letters:,} letters; see the peak of memory",
        {"one key": hot, "one transaction": one, "large values": large, "many keys": many},
        ("strandline",),
        ((1,),),
        {"cold": ((0, 1),)},
    )


def _cores(sizes: Sizes) -> Workload:
    """The first lap warms up; of the increments the second counts."""
    bulk = sizes.bulk // 4
    batches = Batch(bulk), *(Batch(sizes.batch, inserts=0.02),) * 2
    return Workload(
        "cores",
        f"{bulk:,} changes of {sizes.keys // 4:,} keys into nothing, then {sizes.batch:,} onto "
        "them, on a standalone cluster with executors of one core each",
        {"": Shape(keys=sizes.keys // 4, batches=batches, schemas=sizes.schemas)},
        ("one-executor", "two-executors"),
        ((1,), (1, 2, 3)),
        {"bulk": ((1, 1),), "increment": ((1, 3),)},
    )


def _landing(sizes: Sizes) -> Workload:
    """Read from a broker, not from a case: see `bench.tasks.landing`."""
    return Workload(
        "landing",
        f"{sizes.landed:,} records from Kafka, in one process; the second time counts",
        {"": Shape(keys=1, batches=(Batch(sizes.landed),))},
        ("strandline", "consume"),
        ((1,), (1,)),
        {"warm": ((1, 1),)},
    )


def _runs(sizes: Sizes) -> Workload:
    """A source's own tasks in one process (`bench.tasks.runs`); its first run has all to create."""
    shape = Shape(keys=sizes.table_keys, batches=(Batch(sizes.run_batch),) * sizes.runs)
    last = sizes.runs // A_DAY * A_DAY
    return Workload(
        "runs",
        f"{sizes.runs:,} runs of one table, each with {sizes.run_batch} changes of "
        f"{sizes.table_keys} keys, from Kafka to publication; maintained after {A_DAY} of them",
        {"": shape},
        ("strandline",),
        (tuple(range(1, sizes.runs + 1)),),
        {
            "first day": tuple((0, number) for number in range(2, A_DAY + 1)),
            "last day": tuple((0, number) for number in range(last - A_DAY + 2, last + 1)),
        },
    )


def _wide(sizes: Sizes) -> Workload:
    """Many topics and partitions, of which each run brings a little: see `bench.tasks.runs`."""
    shape = Shape(keys=sizes.table_keys, batches=(Batch(sizes.run_batch),) * 3, tables=sizes.wide)
    return Workload(
        "wide",
        f"{sizes.run_batch} changes of each of {sizes.wide} tables, which have "
        f"{shape.partitions * sizes.wide:,} partitions, from Kafka to publication, in one process",
        {"": shape},
        ("strandline",),
        ((1, 2, 3),),
        {"first": ((0, 1),), "next": ((0, 2), (0, 3))},
    )


def _whole(sizes: Sizes) -> Workload:
    """See `bench.tasks.whole`."""
    shape = Shape(keys=sizes.whole // 4 + 1, batches=(Batch(sizes.whole),))
    return Workload(
        "whole",
        f"{sizes.whole:,} changes of {shape.keys:,} keys from Kafka to their history, with a Spark "
        "driver of 3 GB; see the peak of memory",
        {"": shape},
        ("strandline",),
        ((1, 2),),
        {"land": ((0, 1),), "compact": ((0, 2),)},
    )
