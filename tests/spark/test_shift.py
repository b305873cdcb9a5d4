"""How much of a busy key is walked through to find which of its rows a delete takes."""

import pytest
from pyspark.sql import functions as F
from strandline_spark import image, shift
from strandline_spark.image import IMAGE
from strandline_spark.windows import hashed

COLUMNS = (
    f"_key STRING, _seq STRING, _op STRING, _tx_id STRING, _after {IMAGE}, _shows BOOLEAN, "
    "_cut BOOLEAN"
)


def rows(spark, *transactions):
    """The changes of one key, an operation a letter."""
    ops = [(op, f"t{number}") for number, sent in enumerate(transactions) for op in sent]
    sent = [
        ("k", f"{n:04d}", op, tx, [("name", n)] if op != "d" else None, op != "d", False)
        for n, (op, tx) in enumerate(ops)
    ]
    return hashed(spark.createDataFrame(sent, COLUMNS))


@pytest.mark.parametrize(
    ("transactions", "walks"),
    [
        pytest.param(["c", "uuu", "u", "d"], [], id="where nothing can be elsewhere, none"),
        pytest.param(["c", *["uuu"] * 50, "cd", *["u"] * 50], ["cd"], id="one of two records"),
        pytest.param(["cd", "u", "cd"], ["cd", "cd"], id="each by itself"),
        pytest.param(["cd", "ucd"], ["cducd"], id="in one what stands only the first tells"),
        pytest.param(["dcuc", "cd"], ["dcuc", "cd"], id="a create at the end is plain"),
    ],
)
def test_of_a_key_only_transactions_are_walked_through_that_may_put_a_row_elsewhere(
    spark, transactions, walks
):
    found = shift.walks(rows(spark, *transactions)).groupBy("_walk")
    steps = F.sort_array(F.collect_list(F.struct("_seq", "_op")))
    told = found.agg(F.array_join(steps["_op"], "").alias("ops")).orderBy("_walk").collect()
    assert [row["ops"] for row in told] == walks


def test_a_walk_begins_with_what_stands(spark):
    found = shift.walks(rows(spark, "c", "u", "cd")).orderBy("_seq").first()
    assert found["_standing"]["row"]
    assert found["_standing"]["image"][0]["value"] == 1


@pytest.mark.parametrize(
    ("earlier", "alike"),
    [
        pytest.param(0x0BAD_CAFE, True, id="the same cell"),
        pytest.param(0x7654_3210_0BAD_CAFE, True, id="the same cell, of a release that wrote more"),
        pytest.param(-(1 << 63) + 0x0BAD_CAFE, True, id="and below zero"),
        pytest.param(0x0BAD_CAFF, False, id="another cell"),
        pytest.param(0x7654_3210_0BAD_CAFF, False, id="another cell, of that release"),
    ],
)
def test_images_of_an_earlier_release_are_compared_by_the_bits_that_both_have(
    spark, earlier, alike
):
    images = [([("name", earlier)], [("name", 0x0BAD_CAFE)])]
    rows = spark.createDataFrame(images, f"one {IMAGE}, other {IMAGE}")
    found = rows.select(image.alike(F.col("one"), F.col("other")).alias("alike")).first()
    assert found["alike"] is alike
