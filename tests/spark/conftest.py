"""One Spark session for all tests."""

import logging

import pytest
from strandline_spark.compaction import SETTINGS
from strandline_spark.session import local


@pytest.fixture(scope="session")
def spark():
    # A few records per query: planning and a young JVM cost more than the work (examples/spark).
    session = local(
        "strandline tests",
        spark__driver__extraJavaOptions="-XX:+UseSerialGC -XX:TieredStopAtLevel=1 "
        "-XX:ReservedCodeCacheSize=512m",
        spark__sql__adaptive__enabled="false",
    )
    session.sparkContext.setLogLevel("ERROR")
    logging.getLogger("py4j").setLevel(logging.ERROR)
    for name, value in SETTINGS.items():
        session.conf.set(name, value)
    yield session
    session.stop()
