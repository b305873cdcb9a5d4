"""A source whose Spark is behind Apache Livy: nothing of this project is installed there."""

import os

import pytest
from servers.livy import Livy
from stages import airflow_stage
from stages.shop_stage import opened
from strandline_airflow import application

from examples.embedded_kafka import EmbeddedKafka
from strandline.runs import jars

pytestmark = pytest.mark.heavy

SPARK = """[spark]
operator = "airflow.providers.apache.livy.operators.livy.LivyOperator"

[spark.arguments]
file = "{folder}/compact.py"
py_files = ["{folder}/strandline.zip"]
args = ["--manifest", "{{{{ manifest }}}}"]
polling_interval = 1
jars = {jars}
"""


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """What somebody puts to where Livy finds it."""
    folder = tmp_path_factory.mktemp("application")
    assert application.main([str(folder)]) == 0
    return folder


@pytest.fixture(scope="module")
def livy(tmp_path_factory):
    environment = {"SPARK_CONF_DIR": str(airflow_stage.PROJECT / "examples" / "spark")}
    with Livy(tmp_path_factory.mktemp("livy"), {**environment, "PYTHONPATH": ""}) as livy:
        yield livy


@pytest.fixture(scope="module")
def shop(tmp_path_factory, livy, folder):
    with (
        pytest.MonkeyPatch.context() as environment,
        EmbeddedKafka() as broker,
        opened(tmp_path_factory.mktemp("shop"), broker, None) as shop,
    ):
        environment.setenv("AIRFLOW_CONN_LIVY_DEFAULT", livy.connection)
        shop.says(SPARK.format(folder=folder, jars=[str(jar) for jar in jars.at_hand(os.environ)]))
        shop.stream.change("c", 1, 10, name="ada")
        shop.stream.change("u", 1, 20, name="bob")
        shop.land()
        shop.states = shop.trigger("compact")
        yield shop


def test_its_operator_submits_the_manifest_and_the_run_is_published(shop, livy):
    assert set(shop.states.values()) == {"success"}
    (batch,) = livy.batches
    assert batch.asked["args"] == ["--manifest", f"{shop.lake.run(1)}/manifest.json"]
    assert shop.history() == ["1: ada|update", "1: bob"]
    assert shop.published().counts.history_rows == 2


def test_an_application_that_fails_fails_the_run_and_publishes_nothing(shop, livy):
    shop.path.write_text(shop.path.read_text().replace("strandline.zip", "away.zip"))
    shop.stream.change("u", 1, 30, name="eve")
    shop.land()
    assert shop.trigger("compact")["compact"] == "failed"
    assert livy.batches[-1].state == "dead"
    assert shop.published().number == 1
