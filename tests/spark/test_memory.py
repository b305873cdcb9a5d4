"""What the windows of a task may hold, so that each of them has room."""

from strandline_spark import memory, settings, small
from strandline_spark.compaction import attempts

from strandline.runs.manifest import TableCut
from strandline.runs.receipt import Counts, TableReceipt

TOPIC = "shop.public.orders"


def piece(spark, few=small.NONE):
    """The setting of the session in which a table is worked on."""
    seen = []

    def work(own, cut):
        seen.append(int(own.conf.get(memory.PIECE).removesuffix("b")))
        return TableReceipt(cut.table, cut.topic, Counts())

    attempts(spark, [TableCut(TOPIC, TOPIC, ())], work, few)
    return seen.pop()


def test_eight_windows_of_as_many_tasks_as_run_at_once_have_room_in_what_spark_sorts_in(spark):
    heap = spark._jvm.java.lang.Runtime.getRuntime().maxMemory()  # noqa: SLF001
    one = piece(spark)
    held = 8 * spark.sparkContext.defaultParallelism * one
    assert 0.4 * heap < held
    assert held < 0.6 * heap or one == 16 << 20  # less than that is no use


def test_of_long_values_a_window_holds_what_it_can(spark):
    assert piece(spark, small.Few(long={TOPIC: small.LONG})) == (1 << 63) - 1


def test_what_somebody_told_spark_of_windows_holds(spark):
    with settings.during(spark, {memory.PIECE: "64m"}):
        assert memory.settings(spark) == {}
    assert memory.settings(spark)
