"""A finding: one setting that loses or blurs history, or that has to be known."""

from dataclasses import dataclass
from enum import StrEnum


class Severity(StrEnum):
    """How much a setting costs, the worst first."""

    LOSES = "loses"
    """Changes, ends of rows or NULLs never reach the topic, or cannot be told from others there."""
    BLURS = "blurs"
    """Every change arrives, but a value, a time, the order or the beginning is less exact."""
    UNJUDGED = "not judged"
    """Nobody has looked at what it does to history: nothing good or bad is said of it."""
    NOTE = "note"
    """Nothing wrong in what arrives; the source file or a person has to know it."""


@dataclass(frozen=True, slots=True)
class Finding:
    """`setting` and `value` are fit to print: secrets are hidden, long values cut.

    `rule`: the rule that found it, if one did.
    """

    severity: Severity
    setting: str
    value: str
    effect: str
    remedy: str
    rule: str = ""

    def line(self) -> str:
        """The finding in one line: severity, setting, value, what happens, what to do."""
        return f"{self.severity}: {self.setting} = {self.value}: {self.effect}; {self.remedy}"
