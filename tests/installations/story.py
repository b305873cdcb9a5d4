"""What an installation is to do: take two recorded databases from Kafka to their histories."""

from datetime import datetime
from itertools import pairwise
from typing import NamedTuple

from strandline_airflow.runs.publications import Publications

from examples.captures import WAVES, Capture, named
from examples.histories import read, receipts, rows_of
from examples.tally import tally
from examples.truth import compare
from installations.installation import Installation
from installations.site import until

WITH_SPARK = named("postgres_inventory")
ALONE = named("postgres_inventory_avro")
SOURCES = (WITH_SPARK, ALONE)
PATIENCE = 900  # seconds: a busy machine, and the retry of who is killed comes a minute later


class Attempt(NamedTuple):
    """An attempt at a task that has ended; the number is 1 for the first."""

    began: datetime
    ended: datetime
    number: int
    state: str


class Story:
    """An installation and the waves that it has been sent."""

    def __init__(self, installation: Installation) -> None:
        self.installation, self.site = installation, installation.site
        self.captures = installation.captures

    def land(self, number: int) -> None:
        """Sends a wave of each source and lands it, which wakes the compactions."""
        for capture in self.captures:
            self.installation.kafka[capture.source].replay(capture.wave(number))
        landings = [(f"land__{capture.source}", {}) for capture in self.captures]
        assert self.site.run(landings, PATIENCE) == {"success"}

    def compact(self, at_once: int) -> None:
        """Asks for so many compactions of each source at once."""
        for capture in self.captures * at_once:
            self.site.trigger(f"compact__{capture.source}", {})

    def settle(self, number: int) -> None:
        """Waits until the waves up to this one are published and no compaction is under way."""
        until(lambda: self._is_settled(number), PATIENCE, between=0.5)

    def _is_settled(self, number: int) -> bool:
        return all(self._is_published(capture, number) for capture in self.captures)

    def _is_published(self, capture: Capture, number: int) -> bool:
        sent = sum(len(capture.wave(wave)) for wave in WAVES[:number])
        return self.applied(capture) == sent and all(
            run["state"] in {"success", "failed"} for run in self.compactions(capture)
        )

    def applied(self, capture: Capture) -> int:
        """How many records the last publication of a source takes account of."""
        published = Publications(self.installation.stage.source_lake(capture)).last()
        offsets = (offsets for row in published for offsets in row.applied.values())
        return sum(offset for each in offsets for offset in each.values())

    def compactions(self, capture: Capture) -> list[dict[str, object]]:
        """The runs of a source's compaction."""
        return self.site.runs(f"compact__{capture.source}")

    def attempts(self, capture: Capture, *whats: str) -> list[Attempt]:
        """The attempts that have begun at the task that works a manifest off, by their beginning.

        Of the source's compactions, or of what else is named.
        """
        return sorted(
            Attempt(
                _moment(one["start_date"]),
                _moment(one["end_date"]),
                one["try_number"],
                one["state"],
            )
            for what in whats or ("compact",)
            for one in self.site.tries(f"{what}__{capture.source}", what)
            if one["start_date"] and one["state"] != "skipped"
        )

    def disagreements(self, capture: Capture) -> list[object]:
        """Where the histories of a source are not what the database itself wrote down."""
        lake = self.installation.stage.source_lake(capture)
        histories = tuple(read(lake, table) for table in tally(receipts(lake)))
        found = compare(rows_of(histories), capture.truth(), capture.clock_us)
        assert found.keys
        return list(found.disagreements)


def _moment(text: str) -> datetime:
    return datetime.fromisoformat(text)


def overlapping(attempts: list[Attempt]) -> list[tuple[Attempt, Attempt]]:
    """The pairs of attempts of which the second began before the first had ended."""
    return [(one, other) for one, other in pairwise(attempts) if other.began < one.ended]
