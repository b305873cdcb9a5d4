"""A run whose table is cut into parts: what it asks of them, until nothing new is told.

Readers are asked what the records say, which may depend on what others say: so once more, where it
does. Then the shards are asked what their groups come to. Where one tells what may change groups of
another, that something came twice, say, they are all asked again.
"""

from dataclasses import dataclass, replace
from typing import Protocol

from strandline.changes.position import major_of
from strandline.errors import Terminal
from strandline.law.continuation import may_differ
from strandline.law.facts import NONE, Facts
from strandline.law.group import repetition
from strandline.law.shard import Known, Told, is_read
from strandline.law.table import doubted


@dataclass(frozen=True, slots=True)
class Said:
    """What readers tell together; `lowest` as in `Read`, `landed` is how many records they read.

    `refused` is how many of these cannot be read, `nowhere` how many of those name no key, so that
    no shard counts them.
    """

    facts: Facts = NONE
    lowest: str = "~"
    landed: int = 0
    refused: int = 0
    nowhere: int = 0

    def __add__(self, other: "Said") -> "Said":
        """What both tell."""
        return Said(
            self.facts + other.facts,
            min(self.lowest, other.lowest),
            self.landed + other.landed,
            self.refused + other.refused,
            self.nowhere + other.nowhere,
        )

    def since(self, before: "Said") -> "Said":
        """Of how many records this tells more than what was told before."""
        return replace(
            self,
            landed=self.landed - before.landed,
            nowhere=self.nowhere - before.nowhere,
        )


@dataclass(frozen=True, slots=True)
class Extent:
    """Which groups are folded: all or those that are touched, apart or all as one shard.

    `since` is the first position at which a fence stands that did not before: rows of any key may
    end there.
    """

    whole: bool = False
    together: bool = False
    since: str | None = None


class Parts(Protocol):
    """The parts of a table, wherever they are."""

    def read(self, known: Known) -> Said:
        """Has the records read that are to be entered."""

    def enter(self) -> None:
        """Has entered what was read last."""

    def derived(self, now: Known, before: Known, extent: Extent) -> Told:
        """Has shards folded; the versions stay with them."""


@dataclass(frozen=True, slots=True)
class Settled:
    """What a run knows in the end, and what the groups have told that it has folded."""

    known: Known
    told: Told
    regress: str | None


def reading(parts: Parts, known: Known) -> tuple[Known, Said]:
    """What is known when all records are read, each in the light of all others."""
    while True:
        said = parts.read(known)
        now = known.with_facts(known.facts + said.facts)
        if is_read(known.facts, now.facts):
            parts.enter()
            return now, said
        known = now


def folding(parts: Parts, before: Known, now: Known, said: Said, *, whole: bool) -> Settled:
    """What the groups come to that are touched, or all; `Terminal` where the table has to stop."""
    extent = _widened(Extent(whole), before, now, said)
    while True:
        told = parts.derived(now, before, extent)
        if told.error is not None:
            raise Terminal(told.error)
        shared = repetition.shared(told.claims) - now.facts.shared
        facts = now.facts + told.facts + Facts(shared=shared)
        after = replace(now.with_facts(facts), twice=now.twice | told.twice)
        wanted = replace(
            extent,
            whole=extent.whole or bool(told.twice),
            together=extent.together or bool(shared),
        )
        wanted = _widened(wanted, before, after, said)
        if (wanted, after.twice) == (extent, now.twice) and is_read(now.facts, facts):
            regress = doubted(told.doubts, now.making.rules)
            return Settled(after, told, regress)
        now, extent = after, wanted


def _widened(extent: Extent, before: Known, now: Known, said: Said) -> Extent:
    """All groups, where what is known now may make other ones of those that nothing touches."""
    was, view = before.view, now.view
    whole = extent.whole or may_differ(was, view, said.lowest)
    new = [fence.seq for fence in view.fences if fence not in was.fences]
    taken_back = any(fence not in view.fences for fence in was.fences)
    since = min(map(major_of, new), default=None)
    return replace(extent, whole=whole or taken_back, since=since)
