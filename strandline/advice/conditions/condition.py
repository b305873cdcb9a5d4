"""What a condition is: when a rule finds something, in a form that can be checked and read.

`matches` gives the settings of a configuration that meet it; `setting` and `words` say the same to
a person, so that the page of rules cannot differ from what is checked. `names` gives the settings
that it goes by, whatever they are: what no condition goes by is not judged. Values are compared
without regard to case, as Debezium's enumerations are. `default` is what the connector takes where
the setting is absent.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Protocol

from strandline.advice.configuration import Configuration


@dataclass(frozen=True, slots=True)
class Match:
    """A setting that meets a condition and its value, both fit to print."""

    setting: str
    value: str


class Condition(Protocol):
    """When a rule finds something."""

    @property
    def setting(self) -> str:
        """The setting that it is about, for the page of rules."""

    @property
    def words(self) -> str:
        """What it says of the value, for the page of rules."""

    def matches(self, configuration: Configuration) -> Iterator[Match]:
        """The settings that meet it; none where the configuration is all right."""

    def names(self, configuration: Configuration) -> Iterator[str]:
        """The settings of a configuration that it judges, whether they meet it or not."""


def met(condition: Condition, configuration: Configuration) -> bool:
    """True where any setting meets the condition."""
    return any(True for _ in condition.matches(configuration))


@dataclass(frozen=True, slots=True)
class Where:
    """A condition that counts only where others are met as well."""

    condition: Condition
    others: tuple[Condition, ...]

    @property
    def setting(self) -> str:
        return self.condition.setting

    @property
    def words(self) -> str:
        others = " and ".join(f"`{other.setting}` is {other.words}" for other in self.others)
        return f"{self.condition.words}, where {others}"

    def matches(self, configuration: Configuration) -> Iterator[Match]:
        if all(met(other, configuration) for other in self.others):
            yield from self.condition.matches(configuration)

    def names(self, configuration: Configuration) -> Iterator[str]:
        for condition in (self.condition, *self.others):
            yield from condition.names(configuration)
