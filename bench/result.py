"""What one contender's run in one round came to."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Result:
    """One run of a contender on one case of a workload, which has the `label` there.

    `started` are the seconds until the contender could take a batch, `batches` what was measured
    of each, `peak` the most bytes of memory. `wrong` says what is wrong with the outcome (empty:
    nothing), None where it is not meant to be a history.
    """

    workload: str
    label: str
    contender: str
    round: int
    started: float
    batches: list[dict[str, float]]
    peak: int
    wrong: str | None
