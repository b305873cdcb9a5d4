"""Plain keys from run to run: the last versions that they go on from, and what they come to."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True, slots=True)
class Heads:
    """The last versions of keys, as `Versions.columns` has them, and what the keys have seen.

    `recorded` is when the versions were, in microseconds since 1970; None of those of this run.
    """

    fields: Mapping[str, Sequence[Any]]
    business: Sequence[Sequence[object]]
    seen: Sequence[str | None]
    recorded: Sequence[int | None]

    def with_others(self, others: "Heads") -> "Heads":
        """These, and others."""
        own = self.business or [()] * len(others.business)
        return Heads(
            {name: [*of, *self.fields.get(name, ())] for name, of in others.fields.items()},
            [[*of, *mine] for of, mine in zip(others.business, own, strict=True)],
            [*others.seen, *self.seen],
            [*others.recorded, *self.recorded],
        )

    def without(self, keys: Collection[str]) -> "Heads":
        """Those of all other keys."""
        if not keys:
            return self
        kept = [n for n, key in enumerate(self.fields["key"]) if key not in keys]
        return Heads(
            {name: [of[n] for n in kept] for name, of in self.fields.items()},
            [[of[n] for n in kept] for of in self.business],
            [self.seen[n] for n in kept],
            [self.recorded[n] for n in kept],
        )


@dataclass(slots=True)
class Onward:
    """The versions that keys have now, from their last ones of before on.

    `fields` and `business` are as `Versions.columns` has them. Of each version besides: whether it
    is the last of its key, the text that then goes beside it, and when it was recorded, if it is
    what it was. Of each key: the position at which its last version of before began (None where
    there was none), whether that one was open, its changes, and tombstones that add nothing.
    """

    fields: dict[str, list[Any]]
    business: dict[str, list[Any]]
    is_last: list[bool] = field(default_factory=list)
    seen: list[str | None] = field(default_factory=list)
    recorded: list[int | None] = field(default_factory=list)
    keys: list[str] = field(default_factory=list)
    stood: list[str | None] = field(default_factory=list)
    was_open: list[bool] = field(default_factory=list)
    changes: list[int] = field(default_factory=list)
    absorbed: list[int] = field(default_factory=list)
    left: set[str] = field(default_factory=set)

    def held_back(self, key: str) -> "Held":
        """Takes out the last version of the only key that is here, and what is told of the key."""
        if key in self.left or not self.seen:
            self.left.discard(key)
            return Held(key)
        fields = {name: [own.pop()] for name, own in self.fields.items()}
        business = [[own.pop()] for own in self.business.values()]
        last = Heads(fields, business, [self.seen.pop()], [self.recorded.pop()])
        self.is_last.pop()
        self.keys.pop()
        told = self.stood.pop(), self.was_open.pop(), self.changes.pop(), self.absorbed.pop()
        return Held(key, last, *told)

    def credit(self, held: "Held") -> None:
        """Adds what was told of a key before."""
        if held.key not in self.keys:
            return
        n = self.keys.index(held.key)
        self.stood[n], self.was_open[n] = held.stood, held.was_open
        self.changes[n] += held.changes
        self.absorbed[n] += held.absorbed


@dataclass(frozen=True, slots=True)
class Held:
    """What is known of a key of which more is to come; `last` None: it is left, whatever comes."""

    key: str
    last: Heads | None = None
    stood: str | None = None
    was_open: bool = False
    changes: int = 0
    absorbed: int = 0
