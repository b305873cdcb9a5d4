"""The recorded captures on both engines against what the databases' own triggers wrote down."""

import json
from pathlib import Path

import pytest
from strandline_spark.engine import spark as spark_engine

from examples.truth import compare
from strandline import capture, engine, rendering

EXAMPLES = Path(__file__).parents[2] / "examples"


def history(run, name, batches):
    records = list(capture.read([EXAMPLES / name / "capture.jsonl"]))
    outcome = run(records, batches=batches, source=None)
    assert outcome.counts.conserved
    assert outcome.counts.landed == len(records)
    assert not outcome.quarantined
    return [rendering.line(topic, cells) for topic, cells in outcome.rows]


# The clock of each source in microseconds: MariaDB's binlog knows whole seconds.
@pytest.mark.parametrize(
    ("name", "clock_us"), [("postgres-inventory", 1), ("mariadb-inventory", 1_000_000)]
)
@pytest.mark.usefixtures("spark")
def test_both_engines_agree_with_the_recorded_truth_on_every_key(name, clock_us):
    expected = history(engine.python, name, 1)
    truth = [json.loads(line) for line in (EXAMPLES / name / "truth.jsonl").open()]
    agreement = compare([json.loads(line) for line in expected], truth, clock_us)
    assert agreement.disagreements == ()
    assert agreement.keys == agreement.agreed == 147
    assert history(spark_engine, name, 2) == expected
