"""A wheel in an environment of its own, with an empty Airflow beside it and no checkout."""

import json
import os
import re
import shutil
import subprocess
import sys
import sysconfig
import venv
from dataclasses import dataclass
from pathlib import Path

import pytest
from samples.events import Stream
from stages import airflow_stage

from examples.embedded_kafka import EmbeddedKafka

pytestmark = pytest.mark.heavy

PARTS = ("strandline", "spark_apps", "plugins", "dags")


@dataclass
class Installation:
    """An environment with the wheel, an Airflow without anything, and a broker."""

    environment: Path
    home: Path
    variables: dict[str, str]

    def run(self, *arguments):
        """The output of a Python of the environment, started where no checkout is."""
        python = self.environment / "bin" / "python"
        done = subprocess.run(
            [python, *arguments],
            cwd=self.home,
            env=self.variables,
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout

    def airflow(self, *arguments):
        """What a command of Airflow prints as JSON."""
        printed = self.run("-m", "airflow", *arguments, "--output", "json")
        start = re.search(
            r"^\[(?!\w)", printed, re.MULTILINE
        )  # behind lines such as `[warning  ] …`
        return json.loads(printed[start.start() :])

    def test_dag(self, dag):
        """Runs a DAG; what it printed."""
        return self.run("-m", "airflow", "dags", "test", dag)


@pytest.fixture(scope="module")
def broker():
    with EmbeddedKafka() as broker:
        stream = Stream()
        stream.change("c", 1, 10, name="ada")
        stream.change("u", 1, 20, name="bob")
        broker.create_topics_of(stream.records)
        broker.replay(stream.records)
        yield broker


@pytest.fixture(scope="module")
def installation(tmp_path_factory, broker):
    folder = tmp_path_factory.mktemp("wheel")
    environment, home = folder / "environment", folder / "home"
    install(wheel(folder), environment)
    dags = home / "dags"
    (dags / "sources").mkdir(parents=True)
    (dags / "sources" / "shop.toml").write_text(
        f'connector = "postgresql"\nengine = "alone"\nlake = "{folder / "lake"}"\n'
        '[kafka]\ntopic_prefix = "shop"\n'
    )
    variables = {
        "PATH": os.environ["PATH"],
        "HOME": str(home),
        "AIRFLOW_HOME": str(home),
        "AIRFLOW__CORE__LOAD_EXAMPLES": "False",
        "AIRFLOW_CONN_KAFKA_DEFAULT": airflow_stage.kafka_connection(broker.bootstrap),
    }
    made = Installation(environment, home, variables)
    for folder_of_dags in made.run(
        "-c", "import strandline_dags; print(*strandline_dags.__path__)"
    ).splitlines():
        for file in Path(folder_of_dags).glob("*.py"):
            shutil.copy(file, dags)
    made.run("-m", "airflow", "db", "migrate")
    made.run("-m", "strandline_airflow.pools")
    return made


def wheel(folder):
    """The wheel of this checkout, made of a copy: setuptools leaves what it makes beside it."""
    copy = folder / "checkout"
    copy.mkdir()
    shutil.copy(airflow_stage.PROJECT / "pyproject.toml", copy)
    for part in PARTS:
        shutil.copytree(airflow_stage.PROJECT / part, copy / part)
    pip("wheel", "--no-deps", "--no-build-isolation", "--wheel-dir", folder, copy)
    (made,) = folder.glob("strandline-*.whl")
    shutil.rmtree(copy)
    return made


def install(made, environment):
    """A new environment with the wheel, to which the packages of this one are added.

    As a path only: what this one has editable, the checkout itself, is not found there.
    """
    venv.create(environment, with_pip=False)
    pip("--python", environment / "bin" / "python", "install", "--no-deps", "--no-index", made)
    (packages,) = environment.glob("lib/python*/site-packages")
    (packages / "airflow.pth").write_text(sysconfig.get_path("purelib"))


def pip(*arguments):
    subprocess.run([sys.executable, "-m", "pip", "--quiet", *map(str, arguments)], check=True)


def test_every_package_is_imported_from_the_wheel(installation):
    names = "strandline", "strandline_airflow.dag", "strandline_spark"
    code = "import importlib as i, sys; print(i.import_module(sys.argv[1]).__file__)"
    for name in names:
        *_, file = installation.run("-c", code, name).splitlines()
        assert Path(file).is_relative_to(installation.environment)


def test_airflow_lists_the_plugin_with_its_page(installation):
    (plugin,) = [each for each in installation.airflow("plugins") if each["name"] == "strandline"]
    assert "strandline" in plugin["source"]
    assert "/strandline" in str(plugin["fastapi_apps"])


def test_airflow_lists_the_provider_and_what_it_offers(installation):
    listed = installation.airflow("providers", "list")
    assert "strandline" in [each["package_name"] for each in listed]
    (hook,) = [
        each
        for each in installation.airflow("providers", "hooks")
        if each["package_name"] == "strandline"
    ]
    assert (hook["connection_type"], hook["class"]) == (
        "kafka",
        "strandline_airflow.hook.KafkaHook",
    )
    assert "strandline_airflow.notifiers.WebhookNotifier" in str(
        installation.airflow("providers", "notifications")
    )


def test_airflow_parses_the_dags_of_a_source_file(installation):
    installation.run("-m", "airflow", "dags", "reserialize")
    assert installation.airflow("dags", "list-import-errors") == []
    listed = {each["dag_id"] for each in installation.airflow("dags", "list")}
    assert {"land__shop", "compact__shop", "watch__freshness"} <= listed


def test_it_lands_compacts_and_publishes(installation):
    for dag in ("land__shop", "compact__shop"):
        assert "state=success" in installation.test_dag(dag).replace(" ", "")
    told = installation.run(
        "-c",
        "import sys; from strandline.alone.stores import tables;"
        "found = tables.rows(tables.opened(sys.argv[1]), 'SELECT name, _is_current FROM stored');"
        "print(sorted(tuple(row.values()) for row in found))",
        str(installation.environment.parent / "lake/shop/tables/public.item/history"),
    )
    assert told.strip() == "[('ada', False), ('bob', True)]"


def test_the_command_draws_the_history_of_a_recording_without_spark(installation):
    capture = airflow_stage.PROJECT / "examples" / "postgres-inventory" / "capture.jsonl"
    printed = installation.run("-m", "strandline", "history", str(capture), "--engine", "alone")
    rows = [json.loads(line) for line in printed.splitlines()]
    assert any(row["_is_current"] for row in rows)
