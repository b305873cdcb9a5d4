"""A cluster, and the Python of its executors."""

import pytest
from stages import airflow_stage
from stages.cluster_runs import python_without_the_project

from examples.spark_cluster import Cluster


@pytest.fixture(scope="session", autouse=True)
def airflow_database():
    airflow_stage.initialise_database()


@pytest.fixture(scope="session")
def python(tmp_path_factory):
    """The executors' Python."""
    return python_without_the_project(tmp_path_factory.mktemp("python"))


@pytest.fixture
def cluster(tmp_path):
    with Cluster(tmp_path / "cluster") as cluster:
        yield cluster
