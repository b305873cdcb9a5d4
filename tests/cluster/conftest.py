"""A cluster, and the Python of its executors."""

import airflow_stage
import cluster_stage
import pytest


@pytest.fixture(scope="session", autouse=True)
def airflow_database():
    airflow_stage.initialise_database()


@pytest.fixture(scope="session")
def python(tmp_path_factory):
    """The executors' Python."""
    return cluster_stage.python(tmp_path_factory.mktemp("python"))


@pytest.fixture(scope="module")
def cluster(tmp_path_factory):
    with cluster_stage.Cluster(tmp_path_factory.mktemp("cluster")) as cluster:
        yield cluster
