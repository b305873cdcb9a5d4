"""What Connect's AvroConverter writes of a record is read as what its JsonConverter wrote."""

from pathlib import Path

import converter_stage
import pytest

from strandline import engine
from strandline.cells import rendering
from strandline.formats import capture

pytestmark = pytest.mark.heavy

EXAMPLES = Path(__file__).parents[2] / "examples"


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
