"""One Spark session for all tests."""

import logging

import pytest
from strandline_spark.compaction import SETTINGS
from strandline_spark.session import local


@pytest.fixture(scope="session")
def spark():
    session = local("strandline tests")
    session.sparkContext.setLogLevel("ERROR")
    logging.getLogger("py4j").setLevel(logging.ERROR)
    for name, value in SETTINGS.items():
        session.conf.set(name, value)
    yield session
    session.stop()
