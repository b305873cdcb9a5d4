"""Contenders on a tiny workload: right where they can be, and shown wrong where they are not."""

import pytest

from bench.cases.case import made
from bench.cases.judge import judged
from bench.cases.stream import Batch, Shape
from bench.contenders import CONTENDERS

SPARK = ("strandline", "merge", "merge-no-dv", "spark-append")
ONTO_A_HISTORY = Shape(keys=30, batches=(Batch(80, inserts=0.1),), base=300, tables=2)
INTO_NOTHING = Shape(keys=30, batches=(Batch(300),), schemas=True)
LATE = Shape(keys=30, batches=(Batch(80, late=0.2, truncates=1),), base=300, moves=0.02)

ONLY_LATE = Shape(keys=30, batches=(Batch(80, late=0.2),), base=300)

ONE_KEY = Shape(keys=1, batches=(Batch(400, duplicates=0.1),), base=300, deletes=0.2)


@pytest.fixture(scope="module")
def cases(tmp_path_factory):
    return tmp_path_factory.mktemp("cases")


@pytest.fixture
def verdicts(spark, cases, tmp_path):
    """What the judge says of a contender's history of each table of a shape."""

    def run(name, shape):
        case = made(shape, cases)
        contender = CONTENDERS[name](case, tmp_path)
        if name in SPARK:
            contender.spark = spark.newSession()  # compaction leaves its settings behind
        else:
            contender.start(memory="1g", cores=1)
        contender.prepare()
        contender.apply(1)
        if name not in SPARK:
            contender.stop()
        return [judged(case.expected(t, 1), *contender.history(t)) for t in case.tables]

    return run


_MERGE = pytest.param("merge", marks=pytest.mark.heavy)
_NO_DV = pytest.param("merge-no-dv", marks=pytest.mark.heavy)


@pytest.mark.parametrize(
    "name", [*(each for each in SPARK if not each.startswith("merge")), _MERGE, _NO_DV, "duckdb"]
)
def test_into_nothing_everybody_is_right(verdicts, name):
    (verdict,) = verdicts(name, INTO_NOTHING)
    assert verdict.right, verdict


@pytest.mark.parametrize("name", ["strandline", _MERGE, _NO_DV])
def test_onto_a_history_they_are_right_of_every_table(verdicts, name):
    found = verdicts(name, ONTO_A_HISTORY)
    assert [verdict.right for verdict in found] == [True, True], found


def test_with_late_changes_moves_and_truncates_strandline_is_right(verdicts):
    (verdict,) = verdicts("strandline", LATE)
    assert verdict.right, verdict


def test_of_one_key_whose_rows_come_and_go_in_every_transaction_strandline_is_right(verdicts):
    (verdict,) = verdicts("strandline", ONE_KEY)
    assert verdict.right, verdict


@pytest.mark.heavy
@pytest.mark.skipif(
    CONTENDERS["auto-cdc"].lacking() is not None,
    reason="the environment of Spark's AUTO CDC is not there: `make auto-cdc` makes it",
)
@pytest.mark.parametrize("shape", [ONTO_A_HISTORY, ONLY_LATE], ids=["onto a history", "late"])
def test_the_auto_cdc_of_spark_is_right_where_nothing_is_truncated(verdicts, shape):
    found = verdicts("auto-cdc", shape)
    assert all(verdict.right for verdict in found), found


def test_a_fast_wrong_answer_is_shown_wrong(verdicts):
    (verdict,) = verdicts("merge", LATE)
    assert verdict.wrong_keys > 0
