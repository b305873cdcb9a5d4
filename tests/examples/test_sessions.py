"""Processes are ended with everything that they started."""

import signal
import subprocess
import sys

from examples import sessions


def test_an_interrupt_inside_a_look_at_a_process_does_not_keep_it_from_being_ended():
    with subprocess.Popen(
        [sys.executable, "-c", "import time; time.sleep(1000)"], start_new_session=True, text=True
    ) as process:
        process._waitpid_lock.acquire()  # noqa: SLF001 - as `poll` leaves it where it is interrupted
        sessions.end([process], signal.SIGKILL)
        process._waitpid_lock.release()  # noqa: SLF001
        assert process.poll() is not None
