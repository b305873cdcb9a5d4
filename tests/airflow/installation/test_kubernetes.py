"""What can be said of `docker/kubernetes/` without a cluster: the schemas of Kubernetes and this
project's own code read it.

Airflow's Helm chart is in no package registry, so nothing here renders it: that the values are of
names that it has was looked up in its documentation.
"""

import json

import kubernetes_validate
import pytest
import yaml
from airflow.configuration import conf
from stages import airflow_stage
from strandline_airflow.folder import SOURCES_VARIABLE

from strandline import __version__
from strandline.sources import source as source_file

DOCKER = airflow_stage.PROJECT / "docker"
FOLDER = DOCKER / "kubernetes"
KUBERNETES = "1.33"
VALUES = yaml.safe_load((FOLDER / "values.yaml").read_text())
TEMPLATE = yaml.safe_load((FOLDER / "pod-template.yaml").read_text())
(BASE,) = TEMPLATE["spec"]["containers"]
IMAGE = (DOCKER / "airflow" / "Dockerfile").read_text()


def of_values():
    """The pod that the values are parts of: what the chart copies into each pod as it is."""
    secrets = [
        {
            "name": one["envName"],
            "valueFrom": {"secretKeyRef": {"name": one["secretName"], "key": one["secretKey"]}},
        }
        for one in VALUES["secret"]
    ]
    workers = VALUES["workers"]
    return [
        {
            "apiVersion": "v1",
            "kind": "Pod",
            "metadata": {"name": executor},
            "spec": {
                "volumes": VALUES["volumes"],
                "terminationGracePeriodSeconds": workers[executor]["terminationGracePeriodSeconds"],
                "containers": [
                    {
                        "name": "base",
                        "image": ":".join(VALUES["images"]["airflow"].values()),
                        "env": [*VALUES["env"], *secrets],
                        "resources": workers[executor]["resources"],
                        "volumeMounts": VALUES["volumeMounts"],
                    }
                ],
            },
        }
        for executor in ("celery", "kubernetes")
    ]


def variables(pod):
    return {one["name"]: one.get("value") for one in pod["spec"]["containers"][0]["env"]}


@pytest.mark.parametrize("pod", [TEMPLATE, *of_values()], ids=["template", "celery", "kubernetes"])
def test_every_pod_is_one_that_kubernetes_takes(pod):
    kubernetes_validate.validate(pod, KUBERNETES, strict=True)


def test_a_key_that_kubernetes_does_not_know_would_be_found():
    wrong = json.loads(json.dumps(TEMPLATE).replace("mountPath", "mountpath"))
    with pytest.raises(kubernetes_validate.ValidationError, match="mountpath"):
        kubernetes_validate.validate(wrong, KUBERNETES, strict=True)


@pytest.mark.parametrize("pod", [TEMPLATE, *of_values()], ids=["template", "celery", "kubernetes"])
def test_the_source_files_are_mounted_where_the_image_looks_for_them(pod):
    (container,) = pod["spec"]["containers"]
    (mount,) = container["volumeMounts"]
    assert f"{SOURCES_VARIABLE}={mount['mountPath']} " in IMAGE
    assert mount["readOnly"]
    assert mount["name"] in {volume["name"] for volume in pod["spec"]["volumes"]}


def test_both_files_tell_a_task_the_same():
    told = variables(TEMPLATE)
    del told["AIRFLOW__CORE__EXECUTION_API_SERVER_URL"]  # which the chart sets
    assert all(variables(pod) == told for pod in of_values())
    image = BASE["image"]
    assert image == of_values()[0]["spec"]["containers"][0]["image"]
    assert image.endswith(f"/strandline-airflow:{__version__}")
    assert f"FROM apache/airflow:slim-{VALUES['airflowVersion']}-" in IMAGE


def test_the_sample_source_finds_its_lake_and_its_connections_there():
    told = variables(TEMPLATE)
    source = source_file.load(DOCKER / "sources" / "inventory.toml", told)
    assert source.lake == told["STRANDLINE_LAKE"]
    for name in (source.kafka_connection, source.spark_connection):
        assert f"AIRFLOW_CONN_{name.upper()}" in told


def test_no_secret_is_in_either_file():
    named = ("PASSWORD", "SECRET", "_KEY", "TOKEN", "KAFKA")
    asked = {
        name: value for name, value in variables(TEMPLATE).items() if any(n in name for n in named)
    }
    assert set(asked) == {one["envName"] for one in VALUES["secret"]}
    assert set(asked.values()) == {None}
    assert "brokerUrl" not in VALUES["data"]
    assert "metadataConnection" not in VALUES["data"]


def test_every_setting_of_airflow_is_one_that_airflow_has():
    for section, options in VALUES["config"].items():
        assert options.keys() <= conf.configuration_description[section]["options"].keys()
