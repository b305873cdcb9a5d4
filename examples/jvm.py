"""How the examples start Spark's JVM: settings for small runs, and its classes ready in an archive.

Reading, checking and linking them takes a sixth of the CPU of a first run over a few hundred
records. Java can map them from an archive instead, if its class path has no folder with files in
it: so the settings come as options, not by SPARK_CONF_DIR.
"""

import os
import shlex
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

from examples import sessions

_HERE = Path(__file__).resolve().parent
# With what is installed: the archive is good for these jars only.
ARCHIVE = Path(sys.prefix) / "spark-classes.jsa"

_SETTINGS = _HERE / "spark" / "spark-defaults.conf"
_FLAGS = "spark.driver.extraJavaOptions"


class RehearsalError(Exception):
    """The archive could not be made; the text names the log that says why."""


def options() -> str:
    """The value of SPARK_SUBMIT_OPTS; Java passes over an archive that is not there or not its own.

    A source's own settings are given to spark-submit by name and come before these.
    """
    return _joined(f"-XX:SharedArchiveFile={ARCHIVE}")


def rehearse(log: Path) -> None:
    """Writes the archive, at the end of a Spark of its own that folds one of the recordings.

    `RehearsalError` where that fails. Whatever stops it stops that Spark too.
    """
    new = ARCHIVE.with_suffix(".new")
    new.unlink(missing_ok=True)
    environment = os.environ | {"SPARK_SUBMIT_OPTS": _joined(f"-XX:ArchiveClassesAtExit={new}")}
    environment.pop("SPARK_CONF_DIR", None)
    with log.open("wb") as output:
        rehearsal = subprocess.Popen(
            [sys.executable, "-m", "examples.rehearsal"],
            stdout=output,
            stderr=output,
            start_new_session=True,
            cwd=_HERE.parent,
            env=environment,
            text=True,
        )
    try:
        failed = rehearsal.wait()
    finally:
        sessions.end([rehearsal], signal.SIGKILL)
    if failed or not new.exists():
        raise RehearsalError(f"Spark's rehearsal failed; its log is {log}")
    new.replace(ARCHIVE)


def _joined(archiving: str) -> str:
    # What Java says of an archive is of no use to whoever reads the log of a run.
    return shlex.join([*_settings(), archiving, "-Xlog:cds=off"])


def _settings() -> Iterator[str]:
    """The lines of the settings as options of Java."""
    for line in _SETTINGS.read_text(encoding="utf-8").splitlines():
        if line and not line.startswith("#"):
            name, value = line.split(maxsplit=1)
            yield from value.split() if name == _FLAGS else [f"-D{name}={value}"]
