"""The runs in which the records of a case may arrive: none where the case does not allow it."""

from collections.abc import Sequence

from cases.language import Case, repeated

from strandline.changes.record import Record

Runs = Sequence[Sequence[Record]]


def in_one_run(case: Case) -> Runs:
    """All at once."""
    return [case.records]


def in_two_runs(case: Case) -> Runs:
    """One half after the other."""
    half = len(case.records) // 2 if case.parted and case.stops is None else 0
    return [case.records[:half], case.records[half:]]


def with_half_of_it_again(case: Case) -> Runs:
    """All, and in another run the second half once more."""
    half = len(case.records) // 2
    return [case.records, repeated(case, half)[len(case.records) :]] if case.replay else []
