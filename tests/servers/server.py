"""Servers of tests: processes that are asked whether they are ready until they are."""

import socket
import subprocess
import time

_BETWEEN_SECONDS = 0.2  # since asking all the time would keep a server from starting


def wait_until_ready(process, is_ready, log, seconds):
    """Until a process is ready; TimeoutError with the end of its log where it ends, or is not."""
    until = time.monotonic() + seconds
    while not is_ready():
        if _ends_within(process, _BETWEEN_SECONDS) or time.monotonic() > until:
            raise TimeoutError(f"{process.args[0]} did not start: {log.read_text()[-2000:]}")


def listens(port):
    """Whether somebody takes connections at that port of this machine."""
    with socket.socket() as probe:
        return probe.connect_ex(("127.0.0.1", port)) == 0


def _ends_within(process, seconds):
    try:
        process.wait(seconds)
    except subprocess.TimeoutExpired:
        return False
    return True
