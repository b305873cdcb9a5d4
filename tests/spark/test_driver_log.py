"""What the driver writes into the log of its task: the run's story, and what Spark warns of."""

from contextlib import contextmanager

from events import Stream
from strandline_spark.compaction import prepare
from strandline_spark.engine import CaptureLake

from strandline.engine import recorded_at
from strandline.lake import SourceLake

TOPICS = "shop.public.orders", "shop.public.customers"


@contextmanager
def logged(spark, file):
    """What Spark's own logging writes at the level of a task, into the file."""
    log4j = spark._jvm.org.apache.logging.log4j  # noqa: SLF001
    root = log4j.LogManager.getContext(False).getConfiguration().getRootLogger()
    appender = log4j.core.appender.FileAppender.newBuilder().setName("t").withFileName(str(file))
    appender = appender.build()
    appender.start()
    root.addAppender(appender, None, None)
    spark.sparkContext.setLogLevel("WARN")
    try:
        yield
    finally:
        spark.sparkContext.setLogLevel("ERROR")
        root.removeAppender("t")
        appender.stop()


def test_no_query_and_no_table_has_a_warning_of_what_is_meant_to_be_so(spark, tmp_path):
    streams = [Stream(topic=topic) for topic in TOPICS]
    for stream in streams:
        stream.change("c", 1, 10, name="one")
    records = [record for stream in streams for record in stream.records]
    lake = SourceLake((tmp_path / "lake").as_posix(), "shop")
    capture = CaptureLake(spark, lake, "postgresql", recorded_at(records))
    prepare(spark, lake)
    with logged(spark, tmp_path / "log"):
        list(capture.runs([records]))
        spark._jvm.org.apache.logging.log4j.LogManager.getLogger("spark").warn("heard")  # noqa: SLF001
    lines = (tmp_path / "log").read_text().splitlines()
    assert any("heard" in line for line in lines)
    assert not [line for line in lines if "it was too long" in line]
    assert not [line for line in lines if "has not been configured" in line]
