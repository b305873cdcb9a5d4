"""What is wrong with a source file: noted while it is read, and told all at once."""

from dataclasses import dataclass, field
from pathlib import Path

from strandline.errors import SpecError


@dataclass(frozen=True, slots=True)
class Mistakes:
    """What was found so far, each with where it stands, what it is and what is allowed."""

    path: Path
    found: list[str] = field(default_factory=list)

    def note(self, text: str) -> None:
        """Puts a mistake on record; the file is read on."""
        self.found.append(text)

    def tell(self) -> None:
        """Raises `SpecError` with everything that was found; one thing in one line."""
        if len(self.found) == 1:
            raise SpecError(f"{self.path}: {self.found[0]}")
        if self.found:
            lines = "".join(f"\n- {each}" for each in self.found)
            raise SpecError(f"{self.path}: {len(self.found)} mistakes:{lines}")
