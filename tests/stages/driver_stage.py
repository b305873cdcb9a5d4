"""Spark's driver in a process of its own that works off one manifest after another, as it is told.

`python driver_stage.py NAME=VALUE…` is the driver, with these settings of Spark. For each line that
it reads, the URI of a manifest, it does what `spark-submit compact.py` does, and answers with one
line: the text that this would end with, as JSON, null where nothing went wrong. It has a class path
of its own, which a Spark in the process of the tests cannot be given any more.
"""

import json
import os
import subprocess
import sys
import traceback
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from strandline_airflow.runs.folder import read_receipt, write_manifest

from strandline.alone.capture import CaptureLake
from strandline.runs import jars
from strandline.runs.manifest import Manifest
from strandline.runs.receipt import Receipt
from strandline.runs.way import Way

_TESTS = Path(__file__).parents[1]
_PATHS = [_TESTS, *(_TESTS.parent / name for name in ("", "plugins", "spark_apps"))]
_CLASS_PATH = "spark.driver.extraClassPath"
# A few records per query: planning and a young JVM cost more than the work.
_SMALL = {
    "spark.master": "local[2]",
    "spark.driver.memory": "1g",
    "spark.driver.extraJavaOptions": "-XX:+UseSerialGC -XX:TieredStopAtLevel=1 "
    "-XX:ReservedCodeCacheSize=256m",
    "spark.sql.adaptive.enabled": "false",
    # A machine that was paused for a while has not lost its executor.
    "spark.executor.heartbeatInterval": "600s",
    "spark.network.timeout": "3600s",
}


@dataclass
class Driver:
    """A running driver; who asks it reaches the lake by the variables of the test."""

    process: subprocess.Popen[str]

    def attempt(self, manifest: Manifest) -> str | None:
        """Has it work the manifest off, which lies in its lake; what went wrong as a whole."""
        self.process.stdin.write(f"{write_manifest(manifest)}\n")
        self.process.stdin.flush()
        return json.loads(self.process.stdout.readline())

    def done(self, manifest: Manifest) -> Receipt:
        """The receipt of a manifest that it has worked off; nothing went wrong as a whole."""
        assert self.attempt(manifest) is None
        return read_receipt(manifest)


@dataclass(slots=True)
class DrivenLake(CaptureLake):
    """A lake of captures whose runs the driver does, spread."""

    way: Way = Way.SPREAD
    driver: Driver = field(kw_only=True)

    def compact(self, manifest: Manifest) -> Receipt:
        """Applies the manifest."""
        return self.driver.done(manifest)


@contextmanager
def opened(
    folder: Path, environment: Mapping[str, str], settings: Mapping[str, str]
) -> Iterator[Driver]:
    """A driver with these variables and settings, whose log is in the folder."""
    delta = os.pathsep.join(map(str, jars.at_hand(os.environ)))
    path = os.pathsep.join(filter(None, [settings.get(_CLASS_PATH), delta]))
    conf = {**_SMALL, **settings, _CLASS_PATH: path}
    paths = os.pathsep.join(map(str, _PATHS))
    with (folder / "driver.log").open("wb") as log:
        process = subprocess.Popen(
            [sys.executable, __file__, *(f"{name}={value}" for name, value in conf.items())],
            cwd=folder,
            env={**os.environ, **environment, "PYTHONPATH": paths},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=log,
            text=True,
        )
    try:
        yield Driver(process)
    finally:
        process.stdin.close()  # at which it ends
        process.wait()


def _main() -> None:
    from compact import work_off  # noqa: PLC0415 - of the driver only
    from strandline_spark import session  # noqa: PLC0415

    answers = os.fdopen(os.dup(sys.stdout.fileno()), "w")
    os.dup2(sys.stderr.fileno(), sys.stdout.fileno())  # Delta prints what VACUUM did
    given = dict(each.split("=", 1) for each in sys.argv[1:])
    spark = session.local("driver", **{name.replace(".", "__"): of for name, of in given.items()})
    for line in sys.stdin:
        try:
            work_off(spark, line.strip())
            said = None
        except Exception:  # noqa: BLE001 - as it would end the application
            said = traceback.format_exc()
            sys.stderr.write(said)
        answers.write(f"{json.dumps(said)}\n")
        answers.flush()
    spark.stop()


if __name__ == "__main__":
    _main()
