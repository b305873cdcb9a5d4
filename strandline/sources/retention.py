"""What a source file lets maintenance throw away: `[retention]`. Nothing is, where it says nothing.

`versions` is how long what is no longer current stays readable: old publications, time travel, the
way back from a replay. The others count from the day of landing, or from the end of a version.
"""

from dataclasses import dataclass
from datetime import timedelta

from strandline.sources.section import Section

VERSIONS = timedelta(days=7)
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
        versions = section.duration("versions") or VERSIONS
        others = (section.duration(name) for name in ("landing", "history", "changes"))
        found = Retention(versions, *others)
        found._check(section)
        section.finish()
        return found

    def _check(self, section: Section) -> None:
        for name in ("versions", "landing", "history", "changes"):
            length = getattr(self, name)
            if length is not None and length < LEAST:
                section.refuse(name, "must be 1d or longer")
        if self.changes is not None and (self.history is None or self.changes < self.history):
            section.refuse(
                "changes",
                "needs a 'history' that is not longer: a late record makes the versions of its key "
                "again, from its changes",
            )
