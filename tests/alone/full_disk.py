"""Runs alone on a disk that is full: `python -m full_disk FOLDER`, on a file system of its own.

Of a lake with one run the second one meets a disk with no room, then with one page, with two, and
so on until it has enough. Prints of each a line of JSON: what the receipt said, what was there
afterwards, and what its repetition left when there was room again.
"""

import json
import os
import shutil
import sys
from pathlib import Path

from test_faults_alone import found, stream

from strandline.alone.capture import CaptureLake
from strandline.alone.work import work_off
from strandline.engine import recorded_at
from strandline.runs.lake import SourceLake

_PAGE = os.sysconf("SC_PAGE_SIZE")  # a file takes as many of them as it needs
_MOST = 100  # pages: a run that has not enough in these is one of other tests than this


def main(folder: str) -> None:
    """Tells of each room that was not enough, and of the first one that was."""
    for pages in range(_MOST):
        lake, ballast = Path(folder, "lake"), Path(folder, "ballast")
        told = _met(lake, ballast, pages)
        sys.stdout.write(f"{json.dumps(told)}\n")
        if told["error"] is None:
            return
        shutil.rmtree(lake)


def _met(lake: Path, ballast: Path, pages: int) -> dict[str, object]:
    first, second = stream()
    made = CaptureLake(
        SourceLake(lake.as_posix(), "shop"), "postgresql", recorded_at([*first, *second])
    )
    list(made.runs([first]))
    made.land(second)
    manifest = made.manifest(2, second)
    before, *_ = found(made)
    _fill(ballast, pages)
    (table,) = work_off(manifest).tables
    history, *_ = found(made)
    ballast.unlink()
    (again,) = work_off(manifest).tables
    return {
        "error": table.error,
        "transient": table.transient,
        "unchanged": history == before,
        "again": again.error,
        "left": found(made),
    }


def _fill(ballast: Path, pages: int) -> None:
    """Leaves room for so many pages."""
    size = 0
    with ballast.open("wb", buffering=0) as file:
        try:
            while True:
                size += file.write(b"\0" * _PAGE)
        except OSError:
            file.truncate(size - pages * _PAGE)


if __name__ == "__main__":
    main(*sys.argv[1:])
