"""Every value of the interpreter's table decodes to the same in Spark columns."""

import json
from decimal import Decimal

from core.test_values import CASES
from pyspark.sql import functions as F
from strandline_spark import values

from strandline.values import compact
from strandline.values import decode as expected


def test_every_wire_form_decodes_to_the_interpreters_value(spark):
    document = {f"c{number}": value for number, (_, value, _) in enumerate(CASES)}
    text = compact(json.loads(json.dumps(document), parse_float=Decimal))
    fields = ", ".join(f"{name} STRING" for name in document)
    parsed = spark.createDataFrame([(text,)], "text STRING").select(
        F.from_json("text", fields).alias("row")
    )
    typed = [
        values.decode(F.col("row")[f"c{number}"], of).alias(f"c{number}")
        for number, (of, _, _) in enumerate(CASES)
    ]
    row = parsed.select(*typed).first()
    for number, (of, value, _) in enumerate(CASES):
        found = row[f"c{number}"]
        if hasattr(found, "astimezone") and of.kind == "timestamp":
            found = found.astimezone(expected(value, of).tzinfo)
        assert repr(_plain(found)) == repr(expected(value, of)), (of, value)


def _plain(value):
    return bytes(value) if isinstance(value, bytearray) else value


def test_what_does_not_fit_is_null_and_never_another_value(spark):
    refused = [
        ("40000", "int16", None, {}),
        ("1.5", "int32", None, {}),
        ("2146033979", "int32", "io.debezium.time.Date", {}),
        ("9223372036854775807", "int64", "io.debezium.time.MicroTimestamp", {}),
        ("9223372036854775807", "int64", "io.debezium.time.Timestamp", {}),
        ("%%%", "bytes", None, {}),
        ("A+g=", "bytes", "org.apache.kafka.connect.data.Decimal",
         {"scale": "2", "connect.decimal.precision": "3"}),
    ]  # fmt: skip
    from strandline.types import from_connect  # noqa: PLC0415 - beside its only use

    cells = [
        values.decode(F.lit(text), from_connect({"type": kind, "name": name, "parameters": extra}))
        for text, kind, name, extra in refused
    ]
    assert list(spark.range(1).select(*cells).first()) == [None] * len(refused)
