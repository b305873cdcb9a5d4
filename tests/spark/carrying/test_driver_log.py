"""What the driver writes into the log of its task: the run's story, and what Spark warns of."""

import logging
from contextlib import contextmanager

from samples.events import Stream
from strandline_airflow.runs.folder import write_manifest
from strandline_spark.attempts import prepare
from strandline_spark.engine import CaptureLake
from strandline_spark.work import done, work_off

from strandline.engine import recorded_at
from strandline.runs.lake import SourceLake
from strandline.runs.way import Way

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
    capture = CaptureLake(lake, "postgresql", recorded_at(records), session=spark)
    prepare(spark, lake)
    with logged(spark, tmp_path / "log"):
        list(capture.runs([records]))
        spark._jvm.org.apache.logging.log4j.LogManager.getLogger("spark").warn("heard")  # noqa: SLF001
    lines = (tmp_path / "log").read_text().splitlines()
    assert any("heard" in line for line in lines)
    assert not [line for line in lines if "it was too long" in line]
    assert not [line for line in lines if "has not been configured" in line]


def test_a_run_tells_its_number_and_what_became_of_each_table(spark, tmp_path, caplog):
    stream = Stream(topic=TOPICS[0])
    stream.change("c", 1, 10, name="one")
    lake = SourceLake((tmp_path / "lake").as_posix(), "shop")
    capture = CaptureLake(lake, "postgresql", recorded_at(stream.records), session=spark)
    capture.land(stream.records)
    manifest = capture.manifest(1, stream.records)
    with caplog.at_level(logging.INFO):
        work_off(spark, manifest, write_manifest(manifest).replace("manifest", "receipt"))
    first, way, last = (each for each in caplog.messages if each.startswith(("Run ", TOPICS[0])))
    assert first == f"Run 1 of shop: compact {TOPICS[0]}"
    assert way == f"{TOPICS[0]}: is spread over many tasks, since this way is asked for"
    assert last.startswith(f"{TOPICS[0]}: landed 1, changes 1, ")


def test_the_driver_tells_of_each_table_that_a_task_has_done_wherever_that_ran(
    spark, tmp_path, caplog
):
    streams = [Stream(topic=topic) for topic in TOPICS]
    for stream in streams:
        stream.change("c", 1, 10, name="one")
    records = [record for stream in streams for record in stream.records]
    lake = SourceLake((tmp_path / "lake").as_posix(), "shop")
    capture = CaptureLake(lake, "postgresql", recorded_at(records), way=Way.AUTO, session=spark)
    capture.land(records)
    where = tmp_path / "lake" / "shop" / "tables" / TOPICS[1]
    where.parent.mkdir(parents=True)
    where.write_text("a file where the table's folder should be")
    with caplog.at_level(logging.INFO):
        done(spark, capture.manifest(1, records))
    told = sorted(
        (each.getMessage(), each.levelname)
        for each in caplog.records
        if each.getMessage().startswith(TOPICS)
    )
    (customers, failed), (orders, applied) = told
    assert orders.startswith(f"{TOPICS[0]}: landed 1, changes 1, rows written 1")
    assert customers.startswith(f"{TOPICS[1]}: held: ")
    assert (applied, failed) == ("INFO", "ERROR")
