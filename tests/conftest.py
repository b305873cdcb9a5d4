"""One Spark session for all tests, whichever of them asks for it first."""

import gc
import logging
import os
import sys

import pytest
from hypothesis import settings
from strandline_spark.attempts import SETTINGS
from strandline_spark.session import local
from xdist.scheduler import LoadFileScheduling

from strandline.runs import jvm

# Examples take as long as they take on a machine that does other things as well.
settings.register_profile("strandline", deadline=None)
settings.load_profile("strandline")


_ORDER = {name: n for n, name in enumerate(("spark", "e2e", "properties", "alone", "airflow"))}


class _OneSpark(LoadFileScheduling):
    """A process takes a file's tests, which share what is slow to build, and one takes Spark's."""

    def _split_scope(self, nodeid):
        return "spark" if nodeid.startswith("tests/spark/") else super()._split_scope(nodeid)


def pytest_xdist_make_scheduler(config, log):
    return _OneSpark(config, log) if config.getvalue("dist") == "loadfile" else None


def pytest_collection_modifyitems(items):
    """Folders with files that take long begin first, so that no process waits for another long."""
    items.sort(key=lambda item: _ORDER.get(item.nodeid.split("/")[1], len(_ORDER)))


@pytest.fixture(scope="session")
def spark():
    # The faults that tests make run in Python workers, which are of the PATH's Python else.
    os.environ["PYSPARK_PYTHON"] = sys.executable
    # A few records per query: planning and a young JVM cost more than the work (examples/spark).
    # Where all cases are asked for, it lives long enough for Java to compile what it runs.
    young = "" if os.environ.get("STRANDLINE_CASES") == "all" else "-XX:TieredStopAtLevel=1 "
    session = local(
        "strandline tests",
        spark__driver__extraJavaOptions=f"-XX:+UseSerialGC {young}"
        f"-XX:ReservedCodeCacheSize=512m {jvm.FORKING}",
        spark__sql__adaptive__enabled="false",
        spark__driver__memory="3g",
        # A machine that was paused for a while has not lost its executor.
        spark__executor__heartbeatInterval="600s",
        spark__network__timeout="3600s",
    )
    session.sparkContext.setLogLevel("ERROR")
    logging.getLogger("py4j").setLevel(logging.ERROR)
    for name, value in SETTINGS.items():
        session.conf.set(name, value)
    # What was imported is not looked through again with each test.
    gc.collect()
    gc.freeze()
    yield session
    session.stop()


@pytest.fixture(autouse=True)
def forgetful(request):
    """After a test neither Python nor Delta nor Spark holds the plans of its tables.

    Those of hundreds of lakes fill any JVM, which then does nothing but collect its garbage.
    """
    session = request.getfixturevalue("spark") if "spark" in request.fixturenames else None
    yield
    if session is not None:
        gc.collect()
        session._jvm.org.apache.spark.sql.delta.DeltaLog.clearCache()  # noqa: SLF001
        # What `toLocalIterator` ran stays there: its thread goes on when the query has ended.
        scheduler = session._jsc.sc().dagScheduler()  # noqa: SLF001
        for query in list(scheduler.activeQueryToJobs()):
            scheduler.cleanupQueryJobs(query)
