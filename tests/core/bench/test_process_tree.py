"""What the benchmark says that a process and its children hold."""

import multiprocessing
import os
import signal
import subprocess
import sys

from bench import process_tree


def test_a_child_that_still_has_its_parents_memory_counts_once():
    """So is a program that Java starts by vfork, until it is that program."""
    alone = process_tree.resident(os.getpid())
    child = multiprocessing.get_context("fork").Process(target=signal.pause)
    child.start()
    try:
        assert child.pid in process_tree.members(os.getpid())
        assert process_tree.resident(os.getpid()) < 1.5 * alone
    finally:
        child.kill()
        child.join()


def test_a_child_with_memory_of_its_own_counts_besides():
    alone = process_tree.resident(os.getpid())
    program = "held = bytes(range(256)) * (1 << 18); print(flush=True); input()"
    with subprocess.Popen(
        [sys.executable, "-c", program], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as child:
        child.stdout.readline()
        assert process_tree.resident(os.getpid()) > alone + (60 << 20)
        child.communicate(b"\n")
