"""The cases of tests/cases on the Spark engine: the law's history, to the letter.

Cases of one connector are packed into one lake, each in topics of its own. They arrive in two runs
that part the case in its middle, the second of which brings all but a quarter once more. `make
test` takes the cases below, which cover the paths that are special to Spark. `make spark` takes
every case once (STRANDLINE_CASES=all): a pack in the batches that it names, the next one so parted,
the next in Avro. STRANDLINE_CASES=re-delivery-,types- takes those whose file and title begin like
that, in all three ways.
"""

import os
from collections import Counter, defaultdict
from itertools import cycle, zip_longest
from pathlib import Path

import pytest
from cases.language import cases, repeated
from samples.avro import Registry
from strandline_spark import engine
from strandline_spark.engine import CaptureLake

from strandline.cells import rendering
from strandline.connectors import CONNECTORS
from strandline.engine import recorded_at
from strandline.law import interpret, total
from strandline.runs.lake import SourceLake
from strandline.sources import source

CHOSEN = (
    "mysql-a-restart-repeats-up-to",
    "flattened-flattened-rows-of-mysql",
)
WANTED = os.environ.get("STRANDLINE_CASES")
BEGINNINGS = CHOSEN if WANTED is None else ("",) if WANTED == "all" else tuple(WANTED.split(","))
CASES = [case for case in cases() if case.prefix.startswith(BEGINNINGS)]
_PACK = 24  # tables that one lake is not too slow with


def packs():
    """Cases that may share a lake: what control topics tell is told to a whole source."""
    found, numbers = defaultdict(list), Counter()
    for case in CASES:
        alone = any(record.at.topic not in case.topics for record in case.records)
        pack = case.prefix if alone else f"pack-{numbers[case.connector] // _PACK}"
        found[case.connector, pack].append(case)
        numbers[case.connector] += not alone
    return [pytest.param(pack, id="-".join(key)) for key, pack in found.items()]


def as_written(case):
    return case.batches


def repeating(case):
    """One half after the other, and once more the last of the first and the whole second.

    A table that stops keeps what runs before had made of it: its case comes in one.
    """
    half = len(case.records) // 2
    again = repeated(case, half // 2)[len(case.records) :] if case.replay else []
    middle = half if case.parted and case.stops is None else len(case.records)
    return case.records[:middle], [*case.records[middle:], *again]


def in_avro(case):
    """The same as `repeating`, every other record in Avro: a table may change its format."""
    return [
        [REGISTRY.record(each) if n % 2 else each for n, each in enumerate(run)]
        for run in repeating(case)
    ]


REGISTRY = Registry()
ARRIVALS = [in_avro] if WANTED is None else [as_written, repeating, in_avro]


def deliveries():
    """Packs, each with a way in which its records arrive."""
    turns = cycle(ARRIVALS)
    for pack in packs():
        for arrival in [next(turns)] if WANTED == "all" else ARRIVALS:
            yield pytest.param(*pack.values, arrival, id=f"{pack.id}-{arrival.__name__}")


@pytest.mark.parametrize(("pack", "arrival"), deliveries())
def test_the_cases_of_a_pack_have_the_law_s_histories(spark, tmp_path, pack, arrival):
    specs = {case.prefix: parsed(case) for case in pack}
    arrivals = {case.prefix: arrival(case) for case in pack}
    delivered = {name: [r for batch in runs for r in batch] for name, runs in arrivals.items()}
    moment = recorded_at(record for records in delivered.values() for record in records)
    lake = CaptureLake(
        SourceLake(tmp_path.as_posix(), "cases"),
        CONNECTORS[pack[0].connector].names[0],
        moment,
        lambda topic: specs[of(topic, specs)].rules(topic),
        REGISTRY.schemas,
        session=spark,
    )
    receipts = list(lake.runs(together(arrivals.values())))
    told = defaultdict(list)
    for topic, cells in engine.rows(spark, lake.lake, receipts):
        told[of(topic, specs)].append((topic, cells))
    for case in pack:
        rules = specs[case.prefix].rules
        records = delivered[case.prefix]
        connector = CONNECTORS[case.connector]
        expected = interpret(records, connector, moment, rules, schemas=REGISTRY.schemas)
        runs = len(arrivals[case.prefix])
        if runs > 1 and case.stops is not None:  # what runs before have made of it stays
            assert case.stops in last_error(receipts, case.topics), case.title
            continue
        lines = [rendering.line(t.topic, v.cells()) for t in expected.tables for v in t.versions]
        assert [rendering.line(*row) for row in told[case.prefix]] == lines, case.title
        assert case.shown(told[case.prefix]) == case.expected, case.title
        for table in expected.tables:
            found = counted(receipts, table.topic, runs)
            assert found == law_six(table.counts, runs), case.title
            waiting = [
                t.orphaned_moves for r in receipts for t in r.tables if t.topic == table.topic
            ]
            assert waiting[-1] == table.orphaned_moves, case.title


def last_error(receipts, topics):
    """What the last run says of the tables that these topics feed."""
    return " ".join(str(table.error) for table in receipts[-1].tables if table.topic in topics)


def together(arrivals):
    """The first batches of all cases, then the second ones, and so on."""
    for several in zip_longest(*arrivals, fillvalue=()):
        yield [record for batch in several for record in batch]


def counted(receipts, topic, runs):
    """What all runs together made of the topic's records."""
    tables = [table for receipt in receipts for table in receipt.tables if table.topic == topic]
    return law_six(total(table.counts for table in tables), runs)


def law_six(counts, runs):
    """The terms of law 6; a later run may tell that an earlier change was a second delivery."""
    assert counts.conserved
    delivered = (counts.changes, counts.duplicates)
    rows = delivered if runs == 1 else sum(delivered)
    return counts.landed, rows, counts.control, counts.quarantined


def parsed(case):
    path = Path(f"{case.prefix}.toml")
    return source.parse(case.spec, path, {source.LAKE_VARIABLE: "unused"})


def of(topic, specs):
    bare = topic.removeprefix("__debezium-heartbeat.")
    return next(prefix for prefix in specs if bare == prefix or bare.startswith(f"{prefix}."))
