"""Lineage: what a publication tells an OpenLineage receiver, and that none is needed for a run."""

import json
import os
import socket
import subprocess
import sys
from contextlib import contextmanager
from importlib import import_module
from itertools import count
from types import SimpleNamespace

import pytest
from openlineage.client import event_v2, facet_v2
from servers import receivers
from stages import shop_stage
from strandline_airflow.monitoring import lineage

from examples.embedded_kafka import EmbeddedKafka

RENAMED = '[[table]]\ntopic = "shop.public.item"\nrename = { bio = "biography" }\n'


@pytest.fixture(scope="module")
def shop(tmp_path_factory):
    """A source without Spark, with a change that has been published."""
    with (
        EmbeddedKafka() as broker,
        shop_stage.opened(
            tmp_path_factory.mktemp("shop"), broker, None, 'engine = "alone"\n'
        ) as shop,
    ):
        shop.says(RENAMED)
        yield shop


@pytest.fixture(scope="module")
def changed(shop):
    """Lands a change and compacts it by the DAGs; the state of each task of the compaction."""
    positions = count(10)

    def changed(name):
        shop.stream.change("u", 1, next(positions), name=name, bio="b")
        shop.land()
        return shop.trigger("compact")

    return changed


@contextmanager
def telling(port):
    """Airflow's OpenLineage provider tells what listens at a port of this machine."""
    transport = {"type": "http", "url": f"http://127.0.0.1:{port}", "retry": {"total": 0}}
    listener = import_module("airflow.providers.openlineage.plugins.listener")  # as its plugin does
    adapter = import_module("airflow.providers.openlineage.plugins.adapter")
    with pytest.MonkeyPatch.context() as patched:
        patched.setenv("AIRFLOW__OPENLINEAGE__TRANSPORT", json.dumps(transport))
        made = adapter.OpenLineageAdapter()
        patched.setattr(listener.get_openlineage_listener(), "adapter", made)
        yield


@pytest.fixture(scope="module")
def event(changed):
    """What a publication tells of its datasets."""
    with receivers.web_server() as (port, receiver), telling(port):
        assert set(changed("ada").values()) == {"success"}
    return told(receiver)


def told(receiver):
    """The one event about datasets of the task that publishes."""
    (event,) = [
        post
        for post in receiver.posts
        if post["job"]["name"] == "compact__shop.publish"
        and post["eventType"] == "RUNNING"
        and post["outputs"]
    ]
    return event


def test_a_publication_tells_from_which_topic_a_history_came(shop, event):
    (topic,), (history,) = event["inputs"], event["outputs"]
    assert topic["namespace"] == f"kafka://{shop.broker.bootstrap}"
    assert topic["name"] == "shop.public.item"
    assert (history["namespace"], history["name"]) == ("file", shop.lake.history("public.item"))
    assert history["facets"]["version"]["datasetVersion"] == "0"
    assert history["outputFacets"]["outputStatistics"]["rowCount"] == 1


def test_each_column_of_the_source_is_told_to_be_the_same_in_the_history(event):
    (topic,), (history,) = event["inputs"], event["outputs"]
    fields = history["facets"]["columnLineage"]["fields"]
    came_from = {}
    for name, field in fields.items():
        (of,) = field["inputFields"]
        assert (of["namespace"], of["name"]) == (topic["namespace"], topic["name"])
        (how,) = of["transformations"]
        assert (how["type"], how["subtype"]) == ("DIRECT", "IDENTITY")
        came_from[name] = of["field"]
    assert came_from == {"id": "id", "name": "name", "biography": "bio"}
    columns = {each["name"]: each["type"] for each in history["facets"]["schema"]["fields"]}
    assert {"id": "integer", "_valid_from": "timestamp"}.items() <= columns.items()


def test_what_is_told_has_the_form_that_openlineage_publishes(event):
    """Its client's classes are made of the published schemas, and take nothing else."""
    (history,) = event["outputs"]
    assert event["schemaURL"].startswith("https://openlineage.io/spec/")
    event_v2.Run(event["run"]["runId"])
    for facet in (*history["facets"].values(), *history["outputFacets"].values()):
        name = facet["_schemaURL"].rpartition("/")[2]
        (kind,) = {
            getattr(module, name) for module in vars(facet_v2).values() if hasattr(module, name)
        }
        given = {key: value for key, value in facet.items() if not key.startswith("_")}
        assert kind(**given)._get_schema() == facet["_schemaURL"]  # noqa: SLF001


def test_a_receiver_that_is_down_fails_no_run(changed):
    with socket.socket() as closed:  # bound, so that nobody else is there, and deaf
        closed.bind(("127.0.0.1", 0))
        with telling(closed.getsockname()[1]):
            assert set(changed("eve").values()) == {"success"}


@pytest.mark.heavy
def test_a_receiver_that_refuses_what_it_is_told_fails_no_run(changed):
    with receivers.web_server() as (port, receiver), telling(port):
        receiver.status = 500
        assert set(changed("bob").values()) == {"success"}
    assert receiver.headers
    assert receiver.posts == []


def test_what_hinders_the_telling_is_logged_and_fails_no_run(shop, event, caplog, monkeypatch):
    assert event
    monkeypatch.delenv("AIRFLOW_CONN_KAFKA_SHOP")
    with receivers.web_server() as (port, receiver), telling(port):
        lineage.tell(shop.source, [shop.published()])
    assert "its lineage was not told: AirflowNotFoundException" in caplog.text
    assert receiver.posts == []


def test_where_openlineage_is_not_configured_nothing_is_read_or_said(caplog):
    """Another provider, Spark's for one, may have imported it all the same."""
    import_module("airflow.providers.openlineage.plugins.listener")
    lineage.tell(SimpleNamespace(), [SimpleNamespace()])  # neither has anything to be read
    assert caplog.text == ""


def test_where_openlineage_is_not_configured_nothing_of_it_is_imported():
    code = """
import sys
from types import SimpleNamespace
from strandline_airflow.monitoring import lineage
lineage.tell(SimpleNamespace(), [SimpleNamespace()])
print("openlineage.client" in sys.modules, "airflow.providers.openlineage.api" in sys.modules)
"""
    environment = {"PYTHONPATH": ":".join(sys.path), "AIRFLOW_HOME": os.environ["AIRFLOW_HOME"]}
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, env=environment
    )
    assert done.stdout.strip() == "False False"


@pytest.mark.parametrize(
    ("uri", "namespace", "name"),
    [
        ("/lake/shop/tables/t/history", "file", "/lake/shop/tables/t/history"),
        ("file:///lake/a#b?c", "file", "/lake/a#b?c"),
        ("s3a://bucket/lake/history", "s3://bucket", "lake/history"),
        ("s3://bucket/lake", "s3://bucket", "lake"),
        ("gs://bucket/lake", "gs://bucket", "lake"),
        ("abfss://c@acc.dfs.core.windows.net/lake", "abfss://c@acc.dfs.core.windows.net", "lake"),
        ("hdfs://namenode/lake", "hdfs://namenode:8020", "/lake"),
        ("hdfs://namenode:9000/lake", "hdfs://namenode:9000", "/lake"),
    ],
)
def test_a_history_is_called_by_the_rules_of_its_store(uri, namespace, name):
    named = lineage.dataset(uri)
    assert (named.get_namespace(), named.get_name()) == (namespace, name)


def test_a_store_that_has_no_rule_is_named():
    with pytest.raises(ValueError, match="no name for tables at oss://"):
        lineage.dataset("oss://bucket/lake")


@pytest.mark.parametrize(
    ("servers", "namespace"),
    [
        ("one:9092,two:9093", "kafka://one:9092"),
        ("one", "kafka://one:9092"),
        (" SASL_SSL://one:9094", "kafka://one:9094"),
        ("[::1]:9095,two", "kafka://[::1]:9095"),
    ],
)
def test_a_cluster_is_called_by_its_first_server(servers, namespace):
    assert lineage._topic(servers, "t").namespace == namespace  # noqa: SLF001
