"""What a person has to approve before it is done: `[approval]`. Nothing, where it says nothing."""

from dataclasses import dataclass
from datetime import timedelta

from strandline.sources.section import Section

WITHIN = timedelta(days=1)


@dataclass(frozen=True, slots=True)
class Approval:
    """`erase` and `swap`: whether these are asked for, once it is known what they come to.

    `within` is how long an answer is waited for; without one nothing is done. `by` are the ids of
    the users of Airflow who may answer; where none is named, whoever Airflow lets answer.
    """

    erase: bool = False
    swap: bool = False
    within: timedelta = WITHIN
    by: tuple[str, ...] = ()

    @staticmethod
    def of(section: Section) -> "Approval":
        """What a source file's section says."""
        found = Approval(
            erase=section.take("erase", bool, False),
            swap=section.take("swap", bool, False),
            within=section.duration("within") or WITHIN,
            by=section.strings("by"),
        )
        section.finish()
        return found
