"""The six laws on random workloads of every source, each judged by the workload's own truth.

`STRANDLINE_FUZZ_EXAMPLES` sets how many workloads each property tries; they are drawn anew then,
otherwise they are the same few in each run, and a failure is not made smaller (that takes minutes;
`make fuzz` does it). `STRANDLINE_FUZZ_SEED` sets which workloads go into packs, where a complaint
names its seed: `captured(Choices.seeded(seed), source)` is that workload.
`STRANDLINE_FUZZ_ENGINES` names the engines.
"""

import os

import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st
from workloads import (
    Capture,
    Choices,
    captured,
    differences,
    entity_differences,
    ill_formed,
    pack_complaints,
    rows_by_topic,
)
from workloads.kafka import arrival

from strandline import engine as engines
from strandline.changes.record import Record

_EXAMPLES = os.environ.get("STRANDLINE_FUZZ_EXAMPLES")
_ENGINES = os.environ.get("STRANDLINE_FUZZ_ENGINES", "python").split(",")
_SEED = int(os.environ.get("STRANDLINE_FUZZ_SEED", "0"))
_PACK = 60

fuzzed = settings(
    max_examples=int(_EXAMPLES or 20),
    derandomize=_EXAMPLES is None,
    deadline=None,
    phases=set(Phase) - ({Phase.shrink} if _EXAMPLES is None else set()) - {Phase.explain},
    print_blob=True,
    suppress_health_check=list(HealthCheck),
)


@st.composite
def captures(draw, source: str) -> Capture:
    return captured(Choices.drawn(draw), source)


@st.composite
def arrivals(draw, source: str) -> tuple[Capture, list[Record]]:
    """A capture, and its records as they might arrive."""
    choices = Choices.drawn(draw)
    capture = captured(choices, source)
    return capture, arrival(choices, capture.records)


@pytest.fixture(params=_ENGINES)
def engine(request):
    return engines.named(request.param)


def _tried(strategy, check) -> None:
    fuzzed(given(strategy)(check))()


def _rows(engine, records, batches=1):
    return rows_by_topic(engine(list(records), batches=batches, source=None).rows)


def _by_offset(records):
    return sorted(records, key=lambda r: (r.at.topic, r.at.partition, r.at.offset))


def _without_recording(rows):
    return {
        topic: [{n: v for n, v in cells.items() if n != "_recorded_at"} for cells in table]
        for topic, table in rows.items()
    }


def test_the_history_is_what_the_workload_did(engine, source):
    def check(capture):
        wrong = differences(capture, _rows(engine, capture.records))
        assert not wrong, _shown(capture, wrong)

    _tried(captures(source), check)


def test_any_order_of_arrival_gives_the_history_of_sorted_input(engine, source):
    def check(arrived):
        capture, records = arrived
        in_order = _rows(engine, _by_offset(capture.records))
        assert _rows(engine, records, batches=3) == in_order, _shown(capture, [])

    _tried(arrivals(source), check)


def test_a_suffix_sent_again_adds_nothing_but_duplicates(engine, source):
    def check(capture):
        once = engine(list(capture.records), batches=1, source=None)
        twice = engine([*capture.records, *capture.repeated], batches=1, source=None)
        before, after = (_without_recording(rows_by_topic(o.rows)) for o in (once, twice))
        assert after == before, _shown(capture, [])
        assert twice.counts.changes == once.counts.changes
        assert twice.counts.quarantined == once.counts.quarantined
        assert twice.counts.landed == once.counts.landed + len(capture.repeated)

    _tried(captures(source), check)


def test_every_landed_record_is_counted_as_what_it_is(engine, source):
    def check(capture):
        counts = engine(list(capture.records), batches=1, source=None).counts
        found = {name: getattr(counts, name) for name in vars(capture.tally)}
        assert found == vars(capture.tally), _shown(capture, [])
        assert counts.landed == len(capture.records)
        assert counts.conserved

    _tried(captures(source), check)


def test_versions_of_a_key_are_ordered_and_disjoint_and_only_the_last_is_open(engine, source):
    def check(arrived):
        capture, records = arrived
        tables = {topic: history.table for topic, history in capture.truth.items()}
        wrong = ill_formed(_rows(engine, records), tables)
        assert not wrong, _shown(capture, wrong)

    _tried(arrivals(source), check)


def test_a_row_keeps_its_entity_id_wherever_its_key_moves(engine, source):
    def check(capture):
        wrong = entity_differences(capture, _rows(engine, capture.records))
        assert not wrong, _shown(capture, wrong)

    _tried(captures(source), check)


def test_many_workloads_in_one_stream_keep_to_themselves(engine, source):
    for first in range(_SEED, _SEED + int(_EXAMPLES or _PACK), _PACK):
        wrong = pack_complaints(engine, source, count=_PACK, seed=first, batches=3)
        assert not wrong, "\n".join(wrong)


def _shown(capture, wrong) -> str:
    """The stream and what was made of it, for a person."""
    return "\n".join(["", *capture.told(), *wrong])
