"""Law 6 when records are broken in every way: nothing raises, each record is counted once.

A table whose records have no schema is held where a column's kind is unclear; then nothing of it is
applied, so nothing is counted.
The tables that no broken record was sent to have the histories that they would have without it.
`STRANDLINE_FUZZ_EXAMPLES`, `STRANDLINE_FUZZ_SEED` and `STRANDLINE_FUZZ_ENGINES` are those of
`test_histories.py`.
"""

import os

import pytest
from workloads import SOURCES, Choices, captured, rows_by_topic
from workloads.damage import damaged

from strandline import engine as engines

_EXAMPLES = int(os.environ.get("STRANDLINE_FUZZ_EXAMPLES", "25"))
_SEED = int(os.environ.get("STRANDLINE_FUZZ_SEED", "0"))
_ENGINES = os.environ.get("STRANDLINE_FUZZ_ENGINES", "python").split(",")


def broken(seed: int, source: str):
    """A capture, its records with some broken, and the topics of those."""
    choices = Choices.seeded(seed)
    capture = captured(choices, source)
    records, hit = [], set()
    for record in capture.records:
        if record.at.topic in capture.truth and choices.chance(8):
            records.append(damaged(choices, record))
            hit.add(record.at.topic)
        else:
            records.append(record)
    return capture, records, hit


@pytest.fixture(params=_ENGINES)
def engine(request):
    return engines.named(request.param)


@pytest.mark.parametrize("source", SOURCES)
def test_broken_records_are_accounted_for_and_harm_no_other_table(engine, source):
    for seed in range(_SEED, _SEED + _EXAMPLES):
        capture, records, hit = broken(seed, source)
        outcome = engine(records, batches=1, source=None)
        rows = rows_by_topic(outcome.rows)
        assert outcome.counts.conserved, seed
        held = {topic for topic, _ in outcome.stopped}
        assert outcome.counts.landed == sum(r.at.topic not in held for r in records), seed
        assert all(each.reason and each.detail is not None for each in outcome.quarantined), seed
        clean = rows_by_topic(engine(capture.records, batches=1, source=None).rows)
        assert held <= hit, seed
        for topic in capture.truth.keys() - hit:
            assert rows.get(topic) == clean.get(topic), (seed, topic)
