"""What Connect's AvroConverter writes of a record is read as what its JsonConverter wrote."""

from pathlib import Path

import pytest
from cases.language import cases
from py4j.protocol import Py4JJavaError
from stages import converter_stage

from strandline import engine
from strandline.cells import rendering
from strandline.connectors import CONNECTORS
from strandline.formats import capture
from strandline.formats.registry import schemas
from strandline.law import in_runs
from strandline.sources import source

pytestmark = pytest.mark.heavy

# Numbers that JSON spells as no value of their type is spelled, which JsonConverter takes for
# others, and a row of which the schema tells a part.
NOT_A_CONVERTER_S = {
    "documents-maps-and-lists-go-by-their-value-too",
    "envelopes-a-value-that-is-none-of-its-column-s-type-is-quarantined",
    "postgresql-positions-beyond-32-bits-and-beyond-the-sign",
    "tombstones-a-tombstone-whose-key-has-no-schema-is-read-as-the-rows-of-its-topic",
    "types-nan-and-infinities-are-values-and-nan-equals-itself",
}
# Said of rows that are not as their own schema has them, and of names that Avro lacks.
REFUSALS = (
    "org.apache.kafka.connect.errors.DataException",
    "org.apache.avro.SchemaParseException",
)
CASES = [
    case
    for case in cases()
    if case.prefix not in NOT_A_CONVERTER_S
    and any((record.value or b"").startswith(b'{"schema":{') for record in case.records)
]
EXAMPLES = Path(__file__).parents[3] / "examples"


@pytest.fixture(scope="module")
def converter(registry):
    with converter_stage.opened(registry) as converter:
        yield converter


def told(records, **known):
    outcome = engine.python(records, batches=1, source=None, **known)
    assert outcome.counts.conserved
    lines = [rendering.line(topic, cells) for topic, cells in outcome.rows]
    return lines, outcome.quarantined, outcome.counts, outcome.stopped, outcome.doubtful


@pytest.mark.parametrize("ids", converter_stage.FRAMINGS)
@pytest.mark.parametrize("name", ["postgres-inventory", "mariadb-inventory"])
def test_a_capture_that_the_converter_has_written_has_the_history_of_its_json(converter, name, ids):
    records = list(capture.read([EXAMPLES / name / "capture.jsonl"]))
    connect = converter(converter_stage.FRAMINGS[ids])
    avro = connect.records(records)
    changed = [now for now, was in zip(avro, records, strict=True) if now.value != was.value]
    assert len(changed) == sum(record.value is not None for record in records)
    assert told(avro, schemas=connect.schemas) == told(records)


def law(case, records, known):
    """What the law makes of a case."""
    rules = source.parse(case.spec, Path(f"{case.prefix}.toml"), {source.LAKE_VARIABLE: "unused"})
    moment = engine.recorded_at(case.records)
    found = in_runs([records], CONNECTORS[case.connector], moment, rules.rules, schemas=known)
    rows = [(table.topic, version.cells()) for table in found.tables for version in table.versions]
    refused = [(each.reason, each.key, each.at) for each in found.quarantined]
    return rows, found.counts, refused, [(table.error, table.regress) for table in found.tables]


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.prefix)
def test_a_case_has_the_history_of_its_json_unless_the_converters_refuse_to_write_it(
    converter, case
):
    connect = converter(converter_stage.OF_4_BYTES)
    try:
        avro = connect.records(case.records)
    except Py4JJavaError as error:
        if not str(error.java_exception).startswith(REFUSALS):
            raise
        return
    assert law(case, avro, connect.schemas) == law(case, case.records, schemas.NONE)
