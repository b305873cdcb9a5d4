"""What the windows of a task may hold, so that each of them has room."""

import pytest
from events import Stream
from strandline_spark import memory, small
from strandline_spark.compaction import side_by_side
from strandline_spark.engine import CaptureLake

from strandline import engine
from strandline.lake import SourceLake
from strandline.receipt import Counts, TableReceipt

TOPIC = "shop.public.orders"


@pytest.fixture
def manifest(spark, tmp_path):
    """That of a landed run with one record."""
    stream = Stream(topic=TOPIC)
    stream.change("c", 1, 10, name="short")
    lake = SourceLake(tmp_path.as_posix(), "shop")
    capture = CaptureLake(spark, lake, "postgresql", engine.recorded_at(stream.records))
    capture.land(stream.records)
    return capture.manifest(1, stream.records)


def piece(spark, manifest, few):
    """The setting of the session in which the run's table is worked on."""
    seen = []

    def work(own, cut):
        seen.append(int(own.conf.get(memory.PIECE).removesuffix("b")))
        return TableReceipt(cut.table, cut.topic, Counts())

    side_by_side(spark, manifest.tables, work, few)
    return seen.pop()


def test_eight_windows_of_as_many_tasks_as_run_at_once_have_room_in_what_spark_sorts_in(
    spark, manifest
):
    heap = spark._jvm.java.lang.Runtime.getRuntime().maxMemory()  # noqa: SLF001
    one = piece(spark, manifest, small.NONE)
    held = 8 * spark.sparkContext.defaultParallelism * one
    assert 0.4 * heap < held
    assert held < 0.6 * heap or one == 16 << 20  # less than that is no use


def test_of_long_values_a_window_holds_what_it_can(spark, manifest):
    assert piece(spark, manifest, small.Few(long={TOPIC: small.LONG})) == (1 << 63) - 1
