"""What goes over to the JVM in fewer round trips is what would have gone over anyway."""

from decimal import Decimal

import pytest
from pyspark.sql import functions as F
from strandline_spark import gateway


@pytest.fixture
def hastened(spark):
    gateway.hasten(spark)
    gateway.hasten(spark)
    return spark


@pytest.mark.parametrize("size", [1, 2, 10, 11, 20, 25])
def test_a_list_goes_over_whole_and_in_its_order(hastened, size):
    words = [f"word {number}" for number in range(size)]
    row = hastened.range(1).select(F.array(*map(F.lit, words)).alias("words")).first()
    assert row["words"] == words


def test_a_list_may_be_empty_and_hold_nothing(hastened):
    of = hastened._jvm.PythonUtils.toSeq  # noqa: SLF001
    assert of([]).size() == 0
    assert of([None, "a"]).mkString(",") == "null,a"


def test_literals_that_are_equal_keep_their_types(hastened):
    values = [1, True, "1", None, 1.0, Decimal("1.0"), Decimal("1.00")]
    row = hastened.range(1).select(*(F.lit(v).alias(f"c{n}") for n, v in enumerate(values)))
    assert [field.dataType.simpleString() for field in row.schema] == [
        "int", "boolean", "string", "void", "double", "decimal(2,1)", "decimal(3,2)",
    ]  # fmt: skip


@pytest.mark.usefixtures("hastened")
def test_a_column_is_asked_for_once():
    first, again, other = (F.col(name)._jc for name in ("name", "name", "Name"))  # noqa: SLF001
    assert first is again
    assert first is not other
