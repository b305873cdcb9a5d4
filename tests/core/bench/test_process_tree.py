"""What the benchmark says that a process and its children hold."""

import os
import signal
import subprocess
import sys

from bench import process_tree


def test_a_child_that_still_has_its_parents_memory_counts_once():
    """So is a program that Java starts by vfork, until it is that program."""
    forks = "child = os.fork(); child and print(child, flush=True); signal.pause()"
    program = f"import os, signal; print(flush=True); input(); {forks}"
    with subprocess.Popen(
        [sys.executable, "-c", program], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as parent:
        parent.stdout.readline()
        alone = process_tree.resident(parent.pid)
        parent.stdin.write(b"\n")
        parent.stdin.flush()
        child = int(parent.stdout.readline())
        try:
            assert child in process_tree.members(parent.pid)
            assert process_tree.resident(parent.pid) < 1.5 * alone
        finally:
            os.kill(child, signal.SIGKILL)
            parent.kill()


def test_a_child_with_memory_of_its_own_counts_besides():
    alone = process_tree.resident(os.getpid())
    program = "held = bytes(range(256)) * (1 << 18); print(flush=True); input()"
    with subprocess.Popen(
        [sys.executable, "-c", program], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as child:
        child.stdout.readline()
        assert process_tree.resident(os.getpid()) > alone + (60 << 20)
        child.communicate(b"\n")
