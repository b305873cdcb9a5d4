"""Keepers: processes that run commands, and end them however the one that started them ends.

A process that is killed can end nothing. A keeper reads its standard input, which ends with whoever
has the other end.
"""

import json
import select
import shlex
import signal
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

from examples import sessions

_PROJECT = Path(__file__).resolve().parents[1]
_KEEPER = "from examples import keeper; keeper.keep()"

Process = subprocess.Popen[str]


@contextmanager
def kept(
    commands: Mapping[str, Sequence[str]],
    environment: Mapping[str, str],
    logs: Path,
    inherited: Sequence[int] = (),
) -> Iterator[Process]:
    """Runs commands, each with a log of its name, for as long as the block lasts; gives the keeper.

    The keeper holds the `inherited` descriptors until the last of them has ended.
    """
    keeper = started(commands, environment, logs, inherited)
    try:
        yield keeper
    finally:
        # At once: every step of a run may die at any instruction, that is what they are built for.
        sessions.end([keeper], signal.SIGKILL)


def started(
    commands: Mapping[str, Sequence[str]],
    environment: Mapping[str, str],
    logs: Path,
    inherited: Sequence[int] = (),
) -> Process:
    """A keeper that runs the commands, in a session of its own with them (`sessions.end`)."""
    with (logs / "keeper.log").open("ab") as output:
        return subprocess.Popen(
            [sys.executable, "-c", _KEEPER, json.dumps(commands), str(logs)],
            stdin=subprocess.PIPE,
            stdout=output,
            stderr=output,
            pass_fds=inherited,
            start_new_session=True,
            cwd=_PROJECT,
            env=dict(environment),
            text=True,
        )


def keep() -> None:
    """What the keeper does: runs the commands until one of them ends, or until standard input does.

    Nobody writes there. It ends with the process that has the other end, also when that is killed.
    """
    commands, logs = json.loads(sys.argv[1]), Path(sys.argv[2])
    running = [_start(command, logs / f"{name}.log") for name, command in commands.items()]
    while all(each.poll() is None for each in running):
        if select.select([sys.stdin], [], [], 0.5)[0]:
            break
    for each in running:
        if each.poll() is not None:
            print(shlex.join(each.args), "ended with exit code", each.returncode, flush=True)
    sessions.end_own()


def _start(command: Sequence[str], log: Path) -> Process:
    with log.open("ab") as output:
        return subprocess.Popen(
            command, stdin=subprocess.DEVNULL, stdout=output, stderr=output, text=True
        )
