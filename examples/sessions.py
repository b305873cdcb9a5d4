"""Ends processes with everything that they started.

A process that leads a session has everybody below it in that session. A process group would not
do: Airflow gives every task a group of its own.
"""

import os
import signal
import subprocess
import time
from collections.abc import Iterable, Iterator
from contextlib import suppress

import psutil

_PATIENCE = 5  # seconds between asking processes to end and making them


def end(leaders: Iterable["subprocess.Popen[str]"], ask: signal.Signals = signal.SIGTERM) -> None:
    """Ends the sessions of these processes: asks the leaders' groups first, then makes sure."""
    started = list(leaders)
    for leader in started:
        with suppress(ProcessLookupError):
            os.killpg(leader.pid, ask)
    deadline = time.monotonic() + _PATIENCE
    for leader in started:
        with suppress(subprocess.TimeoutExpired):
            leader.wait(max(deadline - time.monotonic(), 0))
    _kill({leader.pid for leader in started}, spared=())
    for leader in started:
        # Not by `Popen.wait`: an interrupt inside `Popen.poll` may have left its lock taken.
        if leader.returncode is None:
            with suppress(psutil.NoSuchProcess):
                psutil.Process(leader.pid).wait()


def end_own() -> None:
    """Ends the session of this process, itself last."""
    _kill({os.getsid(0)}, spared=(os.getpid(),))
    os.kill(os.getpid(), signal.SIGKILL)


def _kill(sessions: set[int], spared: tuple[int, ...]) -> None:
    # Again until nobody is left: who is killed may just have started somebody.
    while members := [one for one in _members(sessions) if one.pid not in spared]:
        for member in members:
            with suppress(psutil.NoSuchProcess):
                member.kill()
        psutil.wait_procs(members, timeout=1)


def _members(sessions: set[int]) -> Iterator[psutil.Process]:
    """Who is alive in the sessions; members may outlive their leader."""
    for process in psutil.process_iter():
        with suppress(ProcessLookupError, psutil.NoSuchProcess):
            if os.getsid(process.pid) in sessions and process.status() != psutil.STATUS_ZOMBIE:
                yield process
