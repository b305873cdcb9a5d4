"""What the benchmark asks of a contender."""

from abc import ABC, abstractmethod
from pathlib import Path
from typing import ClassVar

from bench.cases.case import Case


class Contender(ABC):
    """Applies batches of a case in a folder of its own.

    `name` is that of the results. `state` names what is prepared once per case and copied for each
    race: the history after the base; contenders of one `state` share it. `whole`: whether what it
    writes is meant to be the history, so that it is judged; a floor may write less. `in_delta`:
    whether it writes Delta tables, which the Spark of this environment can read.
    """

    name: ClassVar[str]
    state: ClassVar[str]
    whole: ClassVar[bool] = True
    whole_into_nothing: ClassVar[bool] = True
    in_delta: ClassVar[bool] = True

    def __init__(self, case: Case, folder: Path) -> None:
        self.case = case
        self.folder = folder

    @classmethod
    def lacking(cls) -> str | None:
        """What has to be done before it can take part here; None where nothing has."""
        return None

    def start(self, memory: str, cores: int) -> None:  # noqa: B027 - most floors have none
        """Starts what takes the batches: a Spark session with that much memory for its driver."""

    @abstractmethod
    def prepare(self) -> None:
        """Makes the history after the base in the folder, which is empty."""

    @abstractmethod
    def apply(self, batch: int) -> None:
        """Applies one batch; this is what is measured."""

    @abstractmethod
    def history(self, table: str) -> tuple[str, dict[str, str]]:
        """Where the history lies, a Delta table or a Parquet file, and what it calls its columns.

        The names are by those of `reference.NAMES`; what it does not have is left out.
        """

    def stop(self) -> None:  # noqa: B027 - as above
        """Stops what `start` has started."""

    def beside(self, since: float, until: float) -> dict[str, float]:
        """What else is known, after `stop`, of a batch between these seconds of the clock."""
        del since, until
        return {}
