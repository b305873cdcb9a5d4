"""Spark's classes in an archive that Java maps, instead of reading, checking and linking them anew.

Java writes it itself at the end of a driver that is told to, and passes over one that is not of
this Java and of just these jars. It is for the jars of the class path only, and where no folder
with files in it is on that path, as those of Spark's and Hadoop's configuration are.
"""

import hashlib
import logging
import os
import shlex
import shutil
import sys
import tempfile
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path

log = logging.getLogger(__name__)

VARIABLE = "STRANDLINE_SPARK_ARCHIVE"
NONE = "none"  # its value where there is to be no archive
# Options for all drivers, which come before those that somebody has in extraJavaOptions.
SETTING = "spark.driver.defaultJavaOptions"

# What Java says of an archive is of no use to whoever reads the log of a run. The star is for all
# that it logs of one: of another class path it warns under a second name.
_QUIET = "-Xlog:cds*=off"
# The variables by which a folder is on the class path, or another Spark is started.
_THEIRS = {"SPARK_CONF_DIR", "SPARK_HOME", "HADOOP_CONF_DIR", "YARN_CONF_DIR"}
_ROOM = 1 << 30  # an archive has 200 MB, and a disk that is full ends the driver that writes it


def place(environment: Mapping[str, str], jars: Sequence[Path]) -> Path | None:
    """Where the archive of this Java, this pyspark and these jars is, or would be.

    None where Java could not use it, where nobody may write, or STRANDLINE_SPARK_ARCHIVE is `none`.
    """
    own = "Archive" in environment.get("SPARK_SUBMIT_OPTS", "")
    if not jars or own or environment.keys() & _THEIRS:
        return None
    folder, java, spark = _folder(environment), _java(environment), _spark()
    if folder is None or java is None or spark is None:
        return None
    return folder / f"spark-classes-{_digest((java, spark, *jars))}.jsa"


def reading(archive: Path | None) -> dict[str, str]:
    """The setting by which a driver maps the archive; nothing where there is none."""
    if archive is None or not archive.is_file():
        return {}
    return {SETTING: f"-XX:SharedArchiveFile={shlex.quote(str(archive))} {_QUIET}"}


def writing(archive: Path) -> dict[str, str]:
    """The setting by which a driver writes the archive when it ends."""
    return {SETTING: f"-XX:ArchiveClassesAtExit={shlex.quote(str(archive))} {_QUIET}"}


@contextmanager
def kept(archive: Path | None) -> Iterator[dict[str, str]]:
    """Inside, the setting of a driver that maps the archive, or is the one that writes it.

    Writing takes longer than one start gains, so the first start only notes that it was there: a
    worker that lives for one run never writes an archive that nobody would read.
    """
    if archive is None or archive.is_file():
        yield reading(archive)
        return
    seen = archive.with_suffix(".seen")
    if not seen.exists():
        archive.parent.mkdir(parents=True, exist_ok=True)
        seen.touch()
        yield {}
        return
    seen.unlink(missing_ok=True)  # should writing fail, its repetition does without
    log.info("This run leaves an archive of Spark's classes for the next ones: %s", archive)
    with written(archive) as setting:
        yield setting


@contextmanager
def written(archive: Path) -> Iterator[dict[str, str]]:
    """Inside, the setting of a driver that writes the archive; it is in its place when all is well.

    Each writer has a file of its own, so that two of them do no harm.
    """
    archive.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix="new-", dir=archive.parent) as folder:
        new = Path(folder) / archive.name
        yield writing(new)
        if new.is_file():
            new.replace(archive)


def _folder(environment: Mapping[str, str]) -> Path | None:
    """The folder that is named, else that of what is installed, else the user's cache."""
    given = environment.get(VARIABLE)
    if given == NONE:
        return None
    own = (Path(sys.prefix), Path("~/.cache/strandline").expanduser())
    return next(filter(_has_room, (Path(given),) if given else own), None)


def _has_room(folder: Path) -> bool:
    there = next(each for each in (folder, *folder.parents) if each.is_dir())
    return os.access(there, os.W_OK) and shutil.disk_usage(there).free > _ROOM


def _java(environment: Mapping[str, str]) -> Path | None:
    home = environment.get("JAVA_HOME")
    found = str(Path(home, "bin", "java")) if home else shutil.which("java")
    return Path(found).resolve() if found and Path(found).is_file() else None


def _spark() -> Path | None:
    """The folder of the jars of pip's pyspark."""
    found = find_spec("pyspark")
    jars = Path(found.origin).with_name("jars") if found and found.origin else None
    return jars if jars and jars.is_dir() else None


def _digest(files: Iterable[Path]) -> str:
    """Another one as soon as one of the files is at another place, or another file."""
    digest = hashlib.sha256()
    for file in files:
        digest.update(f"{file} {file.stat().st_mtime_ns}\n".encode())
    return digest.hexdigest()[:12]
