"""A compaction alone in a process that dies at one of its commits, or sleeps there until woken.

`python -m death MANIFEST N before|after`: SIGKILL at the commit of that number, from 0. Where
the environment has `SLEEP`, it waits there for a line on its standard input instead.
"""

import os
import signal
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

from deltalake.table import TableMerger

from strandline.alone import work
from strandline.alone.stores import fencing
from strandline.runs.manifest import Manifest


def main(manifest: str, number: str, side: str) -> None:
    """Compacts, with that end; prints the receipt where there is none."""
    met = 0

    def wrapped(commit: Callable[..., Any]) -> Callable[..., Any]:
        def committed(*args: Any, **named: Any) -> Any:
            nonlocal met
            own, met = met, met + 1
            if own == int(number) and side == "before":
                end()
            result = commit(*args, **named)
            if own == int(number) and side == "after":
                end()
            return result

        return committed

    fencing.write_deltalake = wrapped(fencing.write_deltalake)
    TableMerger.execute = wrapped(TableMerger.execute)  # type: ignore[method-assign]
    told(work.work_off(Manifest.from_json(Path(manifest).read_text())).to_json())


def end() -> None:
    """Dies, or sleeps until it is woken."""
    if "SLEEP" not in os.environ:
        os.kill(os.getpid(), signal.SIGKILL)
    told("asleep")
    sys.stdin.readline()


def told(line: str) -> None:
    """Tells whoever has started this."""
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()


if __name__ == "__main__":
    main(*sys.argv[1:])
