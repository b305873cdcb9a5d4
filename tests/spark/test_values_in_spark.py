"""Every row of the type table, and more numbers than a table holds, decoded in Spark columns."""

import json
import random
from collections import defaultdict
from datetime import UTC
from decimal import Decimal
from typing import NamedTuple

import pytest
from pyspark.sql import functions as F
from strandline_spark import values
from typetable import ROWS, UNFIT, UNHELD, Outcome, encoded

from strandline.cells.spelling import comparable_json
from strandline.cells.types import ColumnType, Kind, Wire
from strandline.cells.values import Number, UnfitError, UnheldError, decode, single
from strandline.changes.key import canonical


class Found(NamedTuple):
    value: object
    text: object


@pytest.fixture(scope="module")
def decoded(spark):
    """What Spark makes of every row: all in one job, a column for each type."""
    by_type = defaultdict(list)
    for row in ROWS:
        by_type[row.of].append(row)
    types = {f"c{number}": of for number, of in enumerate(by_type)}
    cases = list(by_type.values())
    documents = [
        "{" + ",".join(f'"c{n}":{rows[at].wire}' for n, rows in enumerate(cases) if at < len(rows))
        + "}"
        for at in range(max(map(len, cases)))
    ]  # fmt: skip
    outcomes = outcomes_of(spark, documents, types)
    return {
        (row.of, row.wire): found[name]
        for (name, of), rows in zip(types.items(), cases, strict=True)
        for row, found in zip(rows, outcomes, strict=False)
    }


def outcomes_of(spark, documents, types):
    """What was found in each column, a dict for each document."""
    records = spark.createDataFrame(
        [(number, '{"after":' + text + "}") for number, text in enumerate(documents)],
        "number INT, payload STRING",
    ).orderBy("number")
    fields = ", ".join(f"{name}: STRING" for name in types)
    parsed = records.withColumn("v", F.from_json("payload", f"after STRUCT<{fields}>"))
    cells = {name: (F.col(f"v.after.{name}"), {0: of}) for name, of in types.items()}
    spelled = values.respelled(F.col("payload"), "after", cells, lambda _, cell: cell)
    sent = parsed.withColumn("exact", F.lit(None) if spelled is None else spelled)
    exact = set() if spelled is None else set(sent.schema["exact"].dataType.names)
    texts = {
        name: F.coalesce(F.col(f"exact.{name}"), cell) if name in exact else cell
        for name, (cell, _) in cells.items()
    }
    prepared = sent.select(
        "number",
        *(texts[name].isNotNull().alias(f"sent_{name}") for name in types),
        *(values.prepare(texts[name], of).alias(f"ready_{name}") for name, of in types.items()),
    )
    found = prepared.select(
        *(F.col(f"sent_{name}") for name in types),
        *(
            readable(values.finish(F.col(f"ready_{name}"), of), of).alias(name)
            for name, of in types.items()
        ),
        *(key_column(name, of).alias(f"text_{name}") for name, of in types.items()),
        *(beyond(name, of).alias(f"unheld_{name}") for name, of in types.items()),
    )
    return [
        {name: Found(outcome(row, name, of), row[f"text_{name}"]) for name, of in types.items()}
        for row in found.toLocalIterator()
    ]


def values_of(outcomes):
    return [{name: found.value for name, found in each.items()} for each in outcomes]


def readable(value, of):
    # An instant of the first day of year 1 ends Python's conversion to the machine's time zone.
    return value.cast("timestamp_ntz") if of.kind is Kind.INSTANT else value


def key_column(name, of):
    return values.json(values.finish(F.col(f"ready_{name}"), of), of)


def beyond(name, of):
    unheld = values.unheld(F.col(f"ready_{name}"), of)
    return F.lit(False) if unheld is None else unheld


def outcome(row, name, of):
    value = row[name]
    assert row[f"unheld_{name}"] is not None
    if row[f"unheld_{name}"]:
        assert value is None
        return UNHELD
    if value is None:
        return UNFIT if row[f"sent_{name}"] else None
    return as_interpreted(value, of)


def as_interpreted(value, of):
    """Spark's Python types as the law's: bytes, 32-bit floats, instants in UTC."""
    if isinstance(value, bytearray):
        return bytes(value)
    if of.kind is Kind.FLOAT:
        return single(value)
    return value.replace(tzinfo=UTC) if of.kind is Kind.INSTANT else value


@pytest.mark.parametrize("row", ROWS, ids=str)
def test_a_cell_decodes_in_spark_as_the_type_table_says(row, decoded):
    assert repr(decoded[row.of, row.wire].value) == repr(row.expected)


def test_a_value_has_the_same_text_in_the_keys_of_both_engines(decoded):
    values_of_rows = [row for row in ROWS if not isinstance(row.expected, Outcome | None)]
    differing = [
        (str(row), text, key_text(row.expected))
        for row in values_of_rows
        if (text := decoded[row.of, row.wire].text) != key_text(row.expected)
        and row.wire not in NEAREST_TO_ZERO
    ]
    assert not differing


NEAREST_TO_ZERO = {"4.9E-324", "1.4E-45"}  # Java writes two digits where one would do


def key_text(value):
    return canonical({"key": value}).removeprefix('{"key":').removesuffix("}")


def test_a_cell_in_a_column_of_any_other_type_is_the_same_in_both_engines(spark):
    types = {f"c{number}": of for number, of in enumerate(dict.fromkeys(row.of for row in ROWS))}
    wires = sorted({row.wire for row in ROWS})
    documents = ["{" + ",".join(f'"{name}":{wire}' for name in types) + "}" for wire in wires]
    differing = [
        (wire, types[name], value, expected)
        for wire, found in zip(wires, outcomes_of(spark, documents, types), strict=True)
        for name, (value, _) in found.items()
        if repr(value) != repr(expected := interpreted(wire, types[name]))
    ]
    assert not differing


def interpreted(wire, of):
    try:
        return decode(json.loads(wire, parse_float=Number), of)
    except UnfitError:
        return UNFIT
    except UnheldError:
        return UNHELD


def test_decimals_of_every_length_decode_alike_in_both_engines(spark):
    chance = random.Random(7)  # noqa: S311 - the same numbers in every run
    numbers = [0, -1, *(sign * chance.getrandbits(bits) for bits in range(1, 900, 7)
                        for sign in (1, -1))]  # fmt: skip
    scaled = ColumnType(Kind.TEXT, Wire.BASE64, 0, 3)
    variable = ColumnType(Kind.TEXT, Wire.VARIABLE_SCALE)
    wide = ColumnType(Kind.DECIMAL, Wire.BASE64, 38, 5)
    cells = [
        {
            "scaled": encoded(number),
            "variable": {"scale": chance.randrange(-9, 40), "value": encoded(number)},
            "wide": encoded(chance.getrandbits(126) - (1 << 125)),
        }
        for number in numbers
    ]
    types = {"scaled": scaled, "variable": variable, "wide": wide}
    found = values_of(outcomes_of(spark, [json.dumps(each) for each in cells], types))
    expected = [{n: decode(each[n], of) for n, of in types.items()} for each in cells]
    assert found == expected


def test_json_numbers_of_every_length_keep_their_digits(spark):
    chance = random.Random(8)  # noqa: S311 - the same numbers in every run
    of = ColumnType(Kind.DECIMAL, Wire.BASE64, 38, 19)
    numbers = [Decimal(chance.getrandbits(126) - (1 << 125)).scaleb(-19) for _ in range(50)]
    nested = ColumnType(Kind.TEXT, Wire.JSON)
    documents = [f'{{"a":{number:f},"b":[{number:f},"{number:f}"]}}' for number in numbers]
    found = values_of(outcomes_of(spark, documents, {"a": of, "b": nested}))
    expected = [
        {"a": decode(f"{number:f}", of), "b": f'[{number:f},"{number:f}"]'} for number in numbers
    ]
    assert found == expected


def test_a_json_document_compares_alike_in_both_engines(spark):
    documents = [
        '{"a": 1, "b" : [ 1,\t2 ],\r\n "c d": "x  \\" y" }',
        '"a \\\\" ',
        '"unterminated  string',
        "",
        '"' + "long " * 200_000 + '\\"" ',
    ]
    rows = spark.createDataFrame([(text,) for text in documents], "text STRING")
    found = [row[0] for row in rows.select(values.comparable_json(F.col("text"))).collect()]
    assert found == [comparable_json(text) for text in documents]
    assert found[0] == '{"a":1,"b":[1,2],"c d":"x  \\" y"}'
