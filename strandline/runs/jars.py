"""Delta's jars where they lie already, so that Spark resolves no package when it starts.

Spark leaves what it has resolved once in Ivy's folder of the user. There the jars are looked for by
name; where one is not there, Spark resolves the package, and the next start finds it.
"""

import os
import pwd
import zipfile
from collections.abc import Mapping, Sequence
from pathlib import Path

from strandline.errors import Terminal
from strandline.runs.spark import DELTA_PACKAGE

VARIABLE = "STRANDLINE_SPARK_JARS"
AT_EACH_START = "packages"  # its value where Spark is to resolve the package itself each time

_DELTA = DELTA_PACKAGE.rpartition(":")[2]
# Those of the package that Spark does not have itself, in other and fitting versions.
NAMES = (
    f"delta-spark_4.2_2.13-{_DELTA}.jar",
    f"delta-storage-{_DELTA}.jar",
    f"delta-kernel-api-{_DELTA}.jar",
    f"delta-kernel-defaults-{_DELTA}.jar",
    f"delta-kernel-unitycatalog-{_DELTA}.jar",
    "unitycatalog-client-0.6.0.jar",
    "unitycatalog-hadoop-0.6.0.jar",
)
# Ivy writes the organisation before the name.
_ORGANISATIONS = ("", "io.delta_", "io.unitycatalog_")

_CLASS_PATH = "spark.driver.extraClassPath"
_JARS = "spark.jars"
# The variables by which somebody has settings of Spark in a file: a class path may be among them.
_THEIRS = {"SPARK_CONF_DIR", "SPARK_HOME"}


def at_hand(environment: Mapping[str, str], ivy: str | None = None) -> tuple[Path, ...]:
    """Delta's jars on this machine; none where Spark is to resolve them at this start.

    They are in the folder that STRANDLINE_SPARK_JARS names, else in that of Ivy, which `ivy` names
    where it is not the user's. Raises `Terminal` where the named folder lacks one.
    """
    given = environment.get(VARIABLE)
    if given == AT_EACH_START:
        return ()
    folder = Path(given) if given else _resolved(ivy)
    jars = {name: _whole(folder, name) for name in NAMES}
    lacking = [name for name, jar in jars.items() if jar is None]
    if lacking and given:
        raise Terminal(
            f"{VARIABLE} is {given}, but {', '.join(lacking)} is not there, or not whole: copy all "
            f"jars of {DELTA_PACKAGE} into that folder on every worker, or unset the variable: "
            f"Spark then fetches the package once, and with the value '{AT_EACH_START}' each time"
        )
    return () if lacking else tuple(jar for jar in jars.values() if jar)


def settings(
    jars: Sequence[Path], environment: Mapping[str, str], conf: Mapping[str, str], *, local: bool
) -> dict[str, str]:
    """The setting by which Spark has the jars, besides those that `conf` has given it.

    A driver that is all there is (`local`) has them on its class path, where Java can archive them
    and nothing is copied; others send them to their executors.
    """
    own = local and not environment.keys() & _THEIRS
    name, between = (_CLASS_PATH, os.pathsep) if own else (_JARS, ",")
    return {name: between.join([*map(str, jars), *filter(None, [conf.get(name)])])}


def _resolved(ivy: str | None) -> Path:
    """Where Spark leaves what it has resolved."""
    return (Path(ivy) if ivy else _home() / ".ivy2.5.2") / "jars"


def _home() -> Path:
    """The user's folder as Java knows it, which does not ask the environment."""
    try:
        return Path(pwd.getpwuid(os.getuid()).pw_dir)
    except KeyError:
        return Path.home()


def _whole(folder: Path, name: str) -> Path | None:
    """The jar of this name; who was killed while copying it has left a part, which has no end."""
    files = (folder / f"{organisation}{name}" for organisation in _ORGANISATIONS)
    return next((file for file in files if zipfile.is_zipfile(file)), None)
