"""A recording on a cluster of Spark, of which an executor is killed; `make cluster` has more."""

import json

import pytest
from stages import airflow_stage
from stages.cluster_dying import Fate
from stages.cluster_runs import Submission, lines, opened, python_without_the_project

from examples.captures import WAVES, named
from examples.spark_cluster import Cluster
from examples.truth import compare
from strandline.runs.way import Way

pytestmark = pytest.mark.heavy


def test_a_capture_agrees_with_the_truth_though_an_executor_dies_over_one_of_its_tables(tmp_path):
    airflow_stage.initialise_database()
    capture, come = named("postgres_inventory"), tmp_path / "come"
    python = python_without_the_project(tmp_path / "python")
    with Cluster(tmp_path / "cluster") as cluster:
        fate = Fate("alone", "executor", str(come), cluster.master.process.pid)
        submit = Submission(cluster, python, tmp_path, fate)
        lake = opened(tmp_path / "lake", capture.records(), Way.AUTO, submit)
        receipts = list(lake.runs(map(capture.wave, WAVES)))
    assert come.exists()
    assert {table.error for receipt in receipts for table in receipt.tables} == {None}
    found = map(json.loads, lines(lake.lake, receipts))
    agreement = compare(found, capture.truth(), capture.clock_us)
    assert (agreement.disagreements, agreement.agreed) == ((), 147)
