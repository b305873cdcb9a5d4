"""What an application costs that does nothing: the unit for runs of small tables."""

from typing import ClassVar

from bench.contenders.strandline import Strandline


class Application(Strandline):
    """Makes a session as the operator would submit it, and counts to one."""

    name: ClassVar[str] = "application"
    whole: ClassVar[bool] = False
    whole_into_nothing: ClassVar[bool] = False

    def apply(self, batch: int) -> None:
        """One job."""
        del batch
        self.spark.range(1).count()
