"""What a source file lets maintenance throw away: `[retention]`. Nothing is, where it says nothing.

`versions` is how long what is no longer current stays readable: old publications, time travel, the
way back from a replay. The others count from the day of landing, or from the end of a version.
"""

from dataclasses import dataclass
from datetime import timedelta

from strandline.errors import SpecError
from strandline.sources import duration
from strandline.sources.section import Section

VERSIONS = "7d"
LEAST = timedelta(days=1)  # longer than any task writes a file that no commit names yet


@dataclass(frozen=True, slots=True)
class Retention:
    """How long things stay; None is for ever."""

    versions: timedelta
    landing: timedelta | None = None
    history: timedelta | None = None
    changes: timedelta | None = None

    @staticmethod
    def of(section: Section) -> "Retention":
        """The policy of a source file's section."""
        versions = _length(section, "versions", VERSIONS)
        assert versions is not None  # noqa: S101 - it has a default
        found = Retention(
            versions, *(_length(section, name) for name in ("landing", "history", "changes"))
        )
        section.finish()
        found._check(f"{section.path}: {section.title}")
        return found

    def _check(self, where: str) -> None:
        for name in ("versions", "landing", "history", "changes"):
            length = getattr(self, name)
            if length is not None and length < LEAST:
                raise SpecError(f"{where}: '{name}' must be 1d or longer")
        if self.changes is not None and (self.history is None or self.changes < self.history):
            raise SpecError(
                f"{where}: 'changes' needs a 'history' that is not longer: a late record makes the "
                "versions of its key again, from its changes"
            )


def _length(section: Section, name: str, default: str | None = None) -> timedelta | None:
    text = section.take(name, str, default)
    try:
        return None if text is None else duration.parse(text)
    except ValueError as error:
        raise SpecError(f"{section.path}: {section.title}: '{name}' {error}") from error
