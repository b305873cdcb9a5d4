"""The recorded captures through real tables, alone: the same history as the law in memory."""

from pathlib import Path

import pytest

from strandline import engine
from strandline.cells import rendering
from strandline.formats import capture
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
