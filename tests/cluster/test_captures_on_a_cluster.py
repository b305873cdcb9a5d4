"""The recorded captures on a standalone cluster, against what the databases wrote down."""

import json
import subprocess

import pytest
from stages.cluster_runs import Submission, lines, opened

from examples.captures import WAVES, named
from examples.spark_cluster import environment
from examples.truth import compare
from strandline import engine
from strandline.cells import rendering
from strandline.runs.way import Way

pytestmark = pytest.mark.heavy


def test_an_executor_has_the_project_only_by_what_is_sent_to_it(python, tmp_path):
    def imported(names):
        return subprocess.run(
            [python, "-c", f"import {names}"],
            cwd=tmp_path,
            env=environment(),
            stderr=subprocess.PIPE,
            text=True,
            check=False,
        ).stderr

    assert imported("deltalake, fastavro, msgspec, pyarrow") == ""
    for wing in ("strandline", "strandline_spark", "strandline_airflow"):
        assert f"No module named '{wing}'" in imported(wing)


@pytest.mark.parametrize("way", [Way.ALONE, Way.SPREAD])
@pytest.mark.parametrize("name", ["postgres_inventory", "mariadb_inventory"])
def test_a_capture_on_two_executors_agrees_with_the_truth_on_every_key(
    cluster, python, tmp_path, name, way
):
    capture = named(name)
    submit = Submission(cluster, python, tmp_path)
    lake = opened(tmp_path / "lake", capture.records(), way, submit)
    receipts = list(lake.runs(map(capture.wave, WAVES)))
    assert {(t.error, t.way) for r in receipts for t in r.tables} == {(None, way)}
    found = lines(lake.lake, receipts)
    agreement = compare(map(json.loads, found), capture.truth(), capture.clock_us)
    assert agreement.disagreements == ()
    assert agreement.keys == agreement.agreed == 147
    law = engine.python(capture.records(), batches=1, source=None)
    assert found == [rendering.line(topic, cells) for topic, cells in law.rows]
    assert submit.executors() == [{"0", "1"}] * len(WAVES)
