"""The recorded captures through real tables, alone: the same history as the law in memory."""

import json
from dataclasses import replace
from pathlib import Path

import pytest
from cases.language import cases
from samples.events import COLUMNS, Stream

from strandline import engine
from strandline.cells import rendering
from strandline.formats import capture
from strandline.formats.registry import files
from strandline.sources import source as source_file

EXAMPLES = Path(__file__).parents[2] / "examples"


def lines(outcome):
    assert outcome.counts.conserved
    return [rendering.line(topic, cells) for topic, cells in outcome.rows]


@pytest.mark.parametrize("batches", [1, 3])
@pytest.mark.parametrize("file", ["capture.jsonl", "schemaless.jsonl"])
@pytest.mark.parametrize("name", ["postgres-inventory", "mariadb-inventory"])
def test_a_capture_has_the_law_s_history_in_real_tables(name, file, batches):
    folder = EXAMPLES / name
    spec = source_file.load(folder / "schemaless.toml") if file == "schemaless.jsonl" else None
    records = list(capture.read([folder / file]))
    law = engine.python(records, batches=1, source=spec)
    alone = engine.named("alone")(records, batches=batches, source=spec)
    assert lines(alone) == lines(law)
    assert alone.quarantined == law.quarantined
    assert alone.counts.landed == law.counts.landed
    assert alone.counts.changes == law.counts.changes


@pytest.mark.parametrize("batches", [1, 3])
def test_the_capture_in_avro_has_the_history_of_the_one_in_json_in_real_tables(batches):
    folder = EXAMPLES / "postgres-inventory-avro"
    json_records = list(capture.read([EXAMPLES / "postgres-inventory" / "capture.jsonl"]))
    law = engine.python(json_records, batches=1, source=None)
    alone = engine.named("alone")(
        list(capture.read([folder / "capture.jsonl"])),
        batches=batches,
        source=None,
        schemas=files.load(folder / "schemas"),
    )
    assert lines(alone) == lines(law)
    assert alone.quarantined == []
    assert alone.counts.changes == law.counts.changes


def of_each_connector():
    """The records of a case of each connector, and of one whose types only DDL tells."""
    found = {}
    for case in cases():
        told = not {"source", "table"} & case.settings.keys() and case.stops is None
        has_ddl = any(b"tableChanges" in (record.value or b"") for record in case.records)
        if told and case.quarantined == [] and len(case.records) > 1:
            found.setdefault((case.connector, has_ddl), case.records)
    assert {("tencent", True), ("oracle", True), ("sqlserver", True)} <= found.keys()
    assert len({connector for connector, _ in found}) > 6
    return list(found.values())


@pytest.mark.parametrize("batches", [1, 3])
def test_a_capture_of_several_connectors_has_the_histories_of_its_parts(batches):
    parts = of_each_connector()
    every = [record for part in parts for record in part]
    apart = [line for part in parts for line in lines(engine.python(part, batches=1, source=None))]
    law = engine.python(every, batches=1, source=None)
    alone = engine.named("alone")(every, batches=batches, source=None)
    assert law.quarantined == alone.quarantined == []
    assert untimed(lines(alone)) == untimed(lines(law)) == untimed(apart)


def untimed(printed):
    """Without the time at which a run has recorded them, which is that of the last record."""
    return sorted(json.dumps(json.loads(line) | {"_recorded_at": None}) for line in printed)


def test_records_of_two_connectors_in_one_topic_hold_its_table():
    one, other = (part for part in of_each_connector()[:2])
    topic = one[0].at.topic
    moved = [
        replace(record, at=replace(record.at, topic=topic, partition=5))
        for record in other
        if record.key is not None
    ]
    for name in ("python", "alone"):
        outcome = engine.named(name)([*one, *moved], batches=1, source=None)
        ((_, error),) = outcome.stopped
        assert "records of several connectors" in error


def test_a_float_of_32_bits_has_the_digits_that_were_sent():
    columns = [*COLUMNS, {"type": "float", "optional": True, "field": "weight"}]
    records = [Stream(columns=columns).change("c", 1, 1, more={"weight": 0.1})]
    ((_, cells),) = engine.named("alone")(records, batches=1, source=None).rows
    assert cells["weight"] == 0.1
