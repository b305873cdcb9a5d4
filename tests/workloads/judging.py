"""What an engine made of captures, judged by the truth: for one workload, and for many at once."""

from collections.abc import Sequence

from strandline.changes.record import Record
from strandline.engine import Engine, Outcome
from workloads.capture import Capture, packed
from workloads.comparison import differences, entity_differences, ill_formed, rows_by_topic


def complaints(capture: Capture, outcome: Outcome) -> list[str]:
    """Everything that is wrong with the rows of one workload; empty where nothing is."""
    rows = rows_by_topic(outcome.rows)
    tables = {topic: history.table for topic, history in capture.truth.items()}
    return [
        *differences(capture, rows),
        *entity_differences(capture, rows),
        *ill_formed(rows, tables),
        *_doubts(outcome),
    ]


def _doubts(outcome: Outcome) -> list[str]:
    """Workloads have one log: nothing of it goes back."""
    return [f"{topic}: {doubt}" for topic, doubt in outcome.doubtful]


def pack_complaints(
    engine: Engine, source: str, *, count: int, seed: int, batches: int
) -> list[str]:
    """The complaints about many workloads of a source that an engine folds as one stream.

    Each has topics and times of its own, so that one run of an engine whose runs are dear, as
    Spark's are, tries hundreds.
    """
    captures, records = packed(source, count, seed)
    outcome = engine(records, batches=batches, source=None)
    rows = list(outcome.rows)
    found = [
        f"seed {seed + capture.number}: {line}"
        for capture in captures
        for line in complaints(capture, Outcome(rows, (), outcome.counts))
    ]
    return [*found, *_doubts(outcome), *_miscounted(captures, records, outcome)]


def _miscounted(
    captures: Sequence[Capture], records: Sequence[Record], outcome: Outcome
) -> list[str]:
    names = ("changes", "duplicates", "control", "quarantined")
    wanted = {name: sum(getattr(c.tally, name) for c in captures) for name in names}
    found = {name: getattr(outcome.counts, name) for name in names}
    return [] if wanted == found else [f"of {len(records)} records {found}, not {wanted}"]
