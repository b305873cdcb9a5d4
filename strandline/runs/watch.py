"""What is to be told of a source: one alert when something starts, one when it ends.

Pure: the state that the last look left, how the source stands and the instant go in; what is new
and the next state come out. Looking twice at one instant tells nothing twice.
"""

import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import asdict, dataclass, field, replace
from datetime import datetime, timedelta
from enum import StrEnum
from typing import Any

from strandline.runs.standing import Ended, SourceStanding, TableStanding
from strandline.sources import duration


class Kind(StrEnum):
    """What may be wrong. The first five concern a whole source and stand for all its tables."""

    KAFKA = "kafka"
    LANDING = "landing"
    COMPACTION = "compaction"
    LAND_FAILS = "land_fails"
    COMPACT_FAILS = "compact_fails"
    STALE = "stale"
    HELD = "held"
    GAP = "gap"
    QUARANTINE = "quarantine"
    ORPHANS = "orphans"


_TITLES = {
    Kind.KAFKA: "Kafka does not answer",
    Kind.LANDING: "nothing is landed",
    Kind.COMPACTION: "nothing is published",
    Kind.LAND_FAILS: "landing fails",
    Kind.COMPACT_FAILS: "compaction fails",
    Kind.STALE: "behind",
    Kind.HELD: "held",
    Kind.GAP: "records lost to retention",
    Kind.QUARANTINE: "records in quarantine",
    Kind.ORPHANS: "a key move without its other half",
}
# What nobody can tell while Kafka does not answer.
_UNKNOWN_IN_SILENCE = frozenset({Kind.LANDING})


@dataclass(frozen=True, slots=True)
class Condition:
    """Something that is wrong now. `table` is "" where it concerns the whole source."""

    kind: Kind
    table: str
    since: datetime
    cause: str
    behind: timedelta | None = None

    @property
    def id(self) -> str:
        """What makes it the same condition at the next look."""
        return f"{self.kind}/{self.table}"

    @property
    def title(self) -> str:
        """What is wrong, in few words."""
        return _TITLES[self.kind]


@dataclass(frozen=True, slots=True)
class Alert:
    """A condition that has just started, or ended."""

    source: str
    condition: Condition
    ended: bool = False

    @property
    def title(self) -> str:
        """What, where."""
        of = self.condition
        place = f"{self.source}: {of.table}" if of.table else self.source
        return f"{place}: {'over: ' if self.ended else ''}{of.title}"

    @property
    def text(self) -> str:
        """Since when, how far behind, and the probable cause."""
        of = self.condition
        since = f"since {of.since:%Y-%m-%d %H:%M} UTC"
        if self.ended:
            return f"as it had been {since}"
        behind = f", {duration.shown(of.behind)} behind" if of.behind is not None else ""
        return f"{since}{behind}: {of.cause}"


@dataclass(frozen=True, slots=True)
class Mark:
    """Where the landing of a topic stood when Kafka was first seen to have more."""

    landed_to: int
    since: datetime


@dataclass(frozen=True, slots=True)
class Tally:
    """How many runs of a DAG had failed when somebody looked, and since when none has succeeded.

    `succeeded` had when the last one failed; it means nothing while `failing_since` is None.
    """

    failed: int
    succeeded: int = 0
    failing_since: datetime | None = None


@dataclass(frozen=True, slots=True)
class State:
    """What one look leaves to the next: what is told, and what only time tells.

    `unlanded` has a mark for each topic that Kafka has more of; `silent_since` is when Kafka was
    first found silent. `tallies` has one for each DAG whose runs are counted.
    """

    instant: datetime | None = None
    reported: Mapping[str, Condition] = field(default_factory=dict)
    unlanded: Mapping[str, Mark] = field(default_factory=dict)
    silent_since: datetime | None = None
    tallies: Mapping[str, Tally] = field(default_factory=dict)

    def same(self, other: "State") -> bool:
        """True where nothing but the instant differs."""
        return replace(self, instant=None) == replace(other, instant=None)

    def to_json(self) -> str:
        """The state as JSON text."""
        return json.dumps(asdict(self), default=_plain, sort_keys=True)

    @staticmethod
    def from_json(text: str) -> "State":
        """The state that `to_json` wrote."""
        fields = json.loads(text)
        reported = fields.get("reported", fields.get("told", {}))  # as version 0.1 called it
        return State(
            instant=_time(fields["instant"]),
            reported={name: _condition(each) for name, each in reported.items()},
            unlanded={
                topic: Mark(each["landed_to"], datetime.fromisoformat(each["since"]))
                for topic, each in fields["unlanded"].items()
            },
            silent_since=_time(fields["silent_since"]),
            # States of looks that did not count runs have none.
            tallies={dag: _tally_of(each) for dag, each in fields.get("tallies", {}).items()},
        )


def look(state: State, of: SourceStanding, instant: datetime) -> tuple[tuple[Alert, ...], State]:
    """What has started and ended since the last look, and the state for the next one.

    A look at an instant before the last one is none: it tells nothing and leaves the state.
    """
    if state.instant is not None and instant < state.instant:
        return (), state
    marks = _marks(state, of, instant)
    silent_since = (state.silent_since or instant) if of.silent else None
    tallies = {
        dag: _counted(state.tallies.get(dag), ended, instant) for dag, ended in of.ended.items()
    }
    conditions = (*_conditions(of, instant, marks, silent_since), *_failing(of.source, tallies))
    found = {each.id: each for each in conditions}
    if of.silent:
        unknown = (each for each in state.reported.values() if each.kind in _UNKNOWN_IN_SILENCE)
        found = {each.id: each for each in unknown} | found
    started = [Alert(of.source, each) for name, each in found.items() if name not in state.reported]
    ended = [
        Alert(of.source, each, ended=True)
        for name, each in state.reported.items()
        if name not in found
    ]
    # Of what was told, as it was told: only what starts or ends is a change.
    reported = {name: state.reported.get(name, each) for name, each in found.items()}
    return (*started, *ended), State(instant, reported, marks, silent_since, tallies)


def _marks(state: State, of: SourceStanding, instant: datetime) -> Mapping[str, Mark]:
    """Since when Kafka has more; landing that moves on starts the count anew."""
    if of.silent:
        return state.unlanded
    marks = {}
    for each in of.tables:
        if not each.unlanded:
            continue
        seen = state.unlanded.get(each.topic)
        stands = seen is not None and seen.landed_to == each.landed_to
        marks[each.topic] = seen if seen and stands else Mark(each.landed_to, instant)
    return marks


def _counted(before: Tally | None, now: Ended, instant: datetime) -> Tally:
    """The runs of a DAG; what is cleared or forgotten makes Airflow's counts less, and is no news.

    Runs that failed before the first look count where none has ever succeeded.
    """
    if before is None:
        before = Tally(now.failed if now.succeeded else 0)
    if now.failed > before.failed:
        return Tally(now.failed, now.succeeded, before.failing_since or instant)
    if before.failing_since is None or now.succeeded > before.succeeded:
        return Tally(now.failed)
    return Tally(now.failed, min(now.succeeded, before.succeeded), before.failing_since)


def _failing(source: str, tallies: Mapping[str, Tally]) -> Iterator[Condition]:
    for dag, tally in tallies.items():
        if tally.failing_since is not None:
            yield Condition(
                Kind(f"{dag}_fails"), "", tally.failing_since,
                f"a run of {dag}__{source} has failed, and none was seen to succeed after it. Open "
                f"{dag}__{source} in Airflow: the log of the task that is red in its newest failed "
                "run says why",
            )  # fmt: skip


def _conditions(
    of: SourceStanding, instant: datetime, marks: Mapping[str, Mark], silent_since: datetime | None
) -> Iterator[Condition]:
    if of.silent and silent_since and instant - silent_since > of.tolerance.freshness:
        yield Condition(Kind.KAFKA, "", silent_since, of.silent)
    yield from _landing(of, instant, marks)
    late = [each for each in of.tables if each.overdue(instant) and not each.held]
    stopped = [each for each in late if not _ran_since(of, each)]
    if stopped:
        yield _compaction(of, stopped, instant)
    yield from (_stale(each, instant) for each in late if each not in stopped)
    for each in of.tables:
        yield from _of_table(each, instant)


def _ran_since(of: SourceStanding, table: TableStanding) -> bool:
    """Whether a compaction began after the oldest change of the table had landed."""
    last = of.last_compaction
    return last is not None and table.since is not None and last.began_at > table.since


def _landing(
    of: SourceStanding, instant: datetime, marks: Mapping[str, Mark]
) -> Iterator[Condition]:
    late = [
        (marks[each.topic].since, each)
        for each in of.tables
        if each.topic in marks and instant - marks[each.topic].since > each.tolerance.freshness
    ]
    if not late:
        return
    since = min(since for since, _ in late)
    offsets = sum(each.unlanded or 0 for _, each in late)
    last = f"{of.landed_at:%Y-%m-%d %H:%M} UTC" if of.landed_at else "never"
    yield Condition(
        Kind.LANDING, "", since,
        f"Kafka has {offsets:,} offsets more of {_tables([each for _, each in late])}, and "
        f"land__{of.source} does not move on (something was landed last: {last}). Is the DAG "
        "paused, failing, or without a worker? Kafka forgets: what retention deletes is lost",
        instant - since,
    )  # fmt: skip


def _compaction(of: SourceStanding, late: list[TableStanding], instant: datetime) -> Condition:
    since = min(each.since for each in late if each.since)
    last = f"run {of.last_compaction.number}" if of.last_compaction else "none"
    return Condition(
        Kind.COMPACTION, "", since,
        f"{sum(each.landed for each in late):,} landed offsets of {_tables(late)} wait, and "
        f"compact__{of.source} has published nothing since (its last: {last}). Is the DAG paused, "
        "failing, or waiting for its pool?",
        instant - since,
    )  # fmt: skip


def _stale(of: TableStanding, instant: datetime) -> Condition:
    return Condition(
        Kind.STALE, of.table, of.since or instant,
        f"{of.landed:,} landed offsets wait for longer than the "
        f"{duration.shown(of.tolerance.freshness)} that they may, although runs are published: "
        "does a run take longer than that, or come too seldom?",
        of.waited(instant),
    )  # fmt: skip


def _of_table(of: TableStanding, instant: datetime) -> Iterator[Condition]:
    if of.held:
        since = of.held_since or instant
        yield Condition(Kind.HELD, of.table, since, of.held, of.waited(instant))
    if of.losses:
        since = min(loss.seen_at for loss in of.losses)
        lost = "; ".join(str(loss.gap) for loss in of.losses[:3])
        yield Condition(
            Kind.GAP, of.table, since,
            f"{lost}{'; …' if len(of.losses) > 3 else ''}. The history may miss changes until the "
            "connector has taken a new snapshot; land more often than Kafka forgets",
        )  # fmt: skip
    if of.in_quarantine > of.tolerance.quarantine:
        reasons = ", ".join(f"{count:,} {reason}" for reason, count in _most(of.quarantined))
        yield Condition(
            Kind.QUARANTINE, of.table, instant,
            f"records that cannot be read: {of.in_quarantine:,} ({reasons}); the source file "
            f"allows {of.tolerance.quarantine:,}",
        )  # fmt: skip
    if of.parted(instant):
        yield Condition(
            Kind.ORPHANS, of.table, of.orphans_since or instant,
            f"halves of key moves that have not found the other: {of.orphans:,}. It lies in "
            "quarantine, was lost, or is yet to come",
        )  # fmt: skip


def _tables(found: list[TableStanding]) -> str:
    names = ", ".join(each.table for each in found[:3])
    return f"{names} and {len(found) - 3:,} more" if len(found) > 3 else names


def _most(reasons: Mapping[str, int]) -> Iterable[tuple[str, int]]:
    return sorted(reasons.items(), key=lambda each: -each[1])[:3]


def _condition(fields: Mapping[str, str]) -> Condition:
    behind = fields["behind"]
    return Condition(
        Kind(fields["kind"]),
        fields["table"],
        datetime.fromisoformat(fields["since"]),
        fields["cause"],
        None if behind is None else timedelta(seconds=float(behind)),
    )


def _tally_of(fields: Mapping[str, Any]) -> Tally:
    return Tally(fields["failed"], fields["succeeded"], _time(fields["failing_since"]))


def _plain(value: object) -> object:
    match value:
        case datetime():
            return value.isoformat()
        case timedelta():
            return value.total_seconds()
        case _:
            raise TypeError(f"not in a state: {value!r}")


def _time(text: str | None) -> datetime | None:
    return None if text is None else datetime.fromisoformat(text)
