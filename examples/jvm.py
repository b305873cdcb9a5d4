"""How the examples start Spark's JVM: settings for small runs, and its classes ready in an archive.

The archive is that of every Spark of this machine (`strandline/runs/archive.py`). Here it is made
before the first run instead of by the second. The settings come as options, not by SPARK_CONF_DIR:
with a folder on the class path Java has no use for an archive.
"""

import os
import shlex
import signal
import subprocess
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path

from examples import sessions
from strandline.runs import archive, jars

_HERE = Path(__file__).resolve().parent

_SETTINGS = _HERE / "spark" / "spark-defaults.conf"
_FLAGS = "spark.driver.extraJavaOptions"


class RehearsalError(Exception):
    """The archive could not be made; the text names the log that says why."""


def options() -> str:
    """The value of SPARK_SUBMIT_OPTS.

    A source's own settings are given to spark-submit by name and come before these.
    """
    return shlex.join(_settings())


def missing() -> Path | None:
    """The archive that the examples would use, where it is still to be made."""
    environment = _environment()
    place = archive.place(environment, jars.at_hand(environment))
    return None if place is None or place.exists() else place


def rehearse(place: Path, log: Path) -> None:
    """Writes the archive, at the end of a Spark of its own that folds one of the recordings.

    `RehearsalError` where that fails. Whatever stops it stops that Spark too.
    """
    with archive.written(place) as setting, log.open("wb") as output:
        rehearsal = subprocess.Popen(
            [sys.executable, "-m", "examples.rehearsal"],
            stdout=output,
            stderr=output,
            start_new_session=True,
            cwd=_HERE.parent,
            env={**_environment(), "SPARK_SUBMIT_OPTS": f"{options()} {setting[archive.SETTING]}"},
            text=True,
        )
        try:
            failed = rehearsal.wait()
        finally:
            sessions.end([rehearsal], signal.SIGKILL)
        if failed:
            raise RehearsalError(f"Spark's rehearsal failed; its log is {log}")
    if not place.exists():
        raise RehearsalError(f"Spark's rehearsal left no archive; its log is {log}")


def _environment() -> Mapping[str, str]:
    """That of this process without a Spark that its user has configured."""
    theirs = ("SPARK_CONF_DIR", "SPARK_SUBMIT_OPTS")
    return {
        name: value
        for name, value in os.environ.items()
        if name not in theirs and not name.startswith("STRANDLINE_")
    }


def _settings() -> Iterator[str]:
    """The lines of the settings as options of Java."""
    for line in _SETTINGS.read_text(encoding="utf-8").splitlines():
        if line and not line.startswith("#"):
            name, value = line.split(maxsplit=1)
            yield from value.split() if name == _FLAGS else [f"-D{name}={value}"]
