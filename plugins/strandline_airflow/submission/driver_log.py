"""What a driver prints, without what says nothing to somebody who reads the log of its task."""

import re
from collections.abc import Iterable, Iterator

from airflow.providers.apache.spark.hooks.spark_submit import SparkSubmitHook

from strandline.errors import StrandlineError, Terminal, Transient

_IVY_BEGINS, _IVY_PROBLEMS = ":: loading settings ::", ":: problems summary ::"
# How Ivy's lines begin that say which packages it looks for, finds, fetches and has.
_IVY = re.compile(
    r"::|\s|Ivy Default Cache|The jars for the packages|downloading |You probably access|"
    r"\S+#\S+ added as a dependency"
)
_NOISE = re.compile(
    r"^WARNING: Using incubator modules|WARN NativeCodeLoader: |^Using Spark's default log4j|"
    r"INFO SparkContext: (?:OS info|Java version)|^Setting Spark log level|^To adjust logging level"
)
# The line that ends a driver's log where one of the project's errors ended the driver.
_LAST = re.compile(r"strandline\.errors\.(Terminal|Transient): (.+)")


class DriverLog(SparkSubmitHook):
    """The provider's hook, which tells less of what `spark-submit` prints.

    `last` is the error that the driver ended with, where it is one that says what to do.
    """

    last: StrandlineError | None = None

    def _process_spark_submit_log(self, itr: Iterator[str]) -> None:
        super()._process_spark_submit_log(self._heard(telling(itr)))

    def _heard(self, lines: Iterable[str]) -> Iterator[str]:
        for line in lines:
            said = _LAST.match(line)
            if said is not None:
                self.last = (Terminal if said[1] == Terminal.__name__ else Transient)(said[2])
            yield line


def telling(lines: Iterable[str]) -> Iterator[str]:
    """The lines that say something; of Ivy's its problems, where an error follows, or nothing."""
    resolving, problems = False, list[str]()
    for line in lines:
        resolving = line.startswith(_IVY_BEGINS) or (resolving and bool(_IVY.match(line)))
        if resolving:
            problems.extend([line] if problems or line.startswith(_IVY_PROBLEMS) else [])
            continue
        if line.startswith("Exception"):
            yield from problems
        problems.clear()
        if not _NOISE.search(line):
            yield line
    yield from problems
