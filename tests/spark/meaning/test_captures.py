"""The recorded captures on both engines against what the databases' own triggers wrote down."""

import json
from pathlib import Path

import pytest
from strandline_spark.engine import spark as spark_engine

from examples.truth import compare
from strandline import engine
from strandline.cells import rendering
from strandline.formats import capture
from strandline.formats.registry import files
from strandline.sources import source as source_file

EXAMPLES = Path(__file__).parents[3] / "examples"


def history(run, name, batches, spec=None):
    file = "schemaless.jsonl" if spec else "capture.jsonl"
    records = list(capture.read([EXAMPLES / name / file]))
    outcome = run(records, batches=batches, source=spec)
    assert outcome.counts.conserved
    assert outcome.counts.landed == len(records)
    assert not outcome.quarantined
    return [rendering.line(topic, cells) for topic, cells in outcome.rows]


# The clock of each source in microseconds: MariaDB's binlog knows whole seconds.
@pytest.mark.parametrize(
    ("name", "clock_us", "runs"),
    [
        ("postgres-inventory", 1, 1),
        pytest.param("postgres-inventory", 1, 2, marks=pytest.mark.heavy),
        pytest.param("mariadb-inventory", 1_000_000, 2, marks=pytest.mark.heavy),
    ],
)
@pytest.mark.usefixtures("spark")
def test_both_engines_agree_with_the_recorded_truth_on_every_key(name, clock_us, runs):
    expected = history(engine.python, name, 1)
    truth = [json.loads(line) for line in (EXAMPLES / name / "truth.jsonl").open()]
    agreement = compare([json.loads(line) for line in expected], truth, clock_us)
    assert agreement.disagreements == ()
    assert agreement.keys == agreement.agreed == 147
    assert history(spark_engine, name, runs) == expected


@pytest.mark.heavy
@pytest.mark.usefixtures("spark")
def test_the_recording_in_avro_has_the_history_of_the_one_in_json():
    folder = EXAMPLES / "postgres-inventory-avro"
    outcome = spark_engine(
        list(capture.read([folder / "capture.jsonl"])),
        batches=2,
        source=None,
        schemas=files.load(folder / "schemas"),
    )
    found = [rendering.line(topic, cells) for topic, cells in outcome.rows]
    assert found == history(engine.python, "postgres-inventory", 1)
    assert not outcome.quarantined


def rows(lines):
    """The rows of the source that versions hold, in no order: their topics have another prefix."""
    versions = [json.loads(line.replace("inventory_bare", "inventory")) for line in lines]
    own = [{k: v for k, v in each.items() if not k.startswith("_")} for each in versions]
    return sorted(json.dumps(row, sort_keys=True) for row in own)


@pytest.mark.heavy
@pytest.mark.parametrize("name", ["postgres-inventory", "mariadb-inventory"])
@pytest.mark.usefixtures("spark")
def test_without_schemas_both_engines_print_one_history_by_the_columns_that_are_told(name):
    spec = source_file.load(EXAMPLES / name / "schemaless.toml")
    expected = history(engine.python, name, 1, spec)
    assert history(spark_engine, name, 2, spec) == expected
    assert rows(expected) == rows(history(engine.python, name, 1))
