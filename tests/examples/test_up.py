"""`make up`: what it serves, what it refuses, and that nothing of it is left, however it ends."""

import fcntl
import json
import os
import re
import signal
import socket
import subprocess
import sys
import time
from datetime import datetime
from pathlib import Path

import psutil
import pytest
from deltalake import DeltaTable
from installations.site import PATIENCE, Site, a_port, until

from examples.captures import CAPTURES, named
from examples.stage import Stage

PROJECT = Path(__file__).parents[2]
TRIGGERED = ("maintain", "replay", "requeue", "erase", "epoch", "backfill", "reconcile", "release")
DAGS = {"example__replay", "watch__freshness"} | {
    f"{what}__{capture.source}" for capture in CAPTURES for what in ("land", "compact", *TRIGGERED)
}
AGAIN = named("postgres_inventory_avro")  # a backfill lands some of it again
TOPIC, SINCE = "inventory.public.orders", "2026-11-20T23:41:58.319Z"
# Serves a process that is deaf to everything but a kill and so is its child, in a group of its own.
PROGRAM = """\
import fcntl, json, os, signal, sys, time
from pathlib import Path
from examples import keeper

def interrupt(*_):
    raise KeyboardInterrupt

for ending in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
    signal.signal(ending, interrupt)
commands, folder = json.loads(sys.argv[1]), Path(sys.argv[2])
with (folder / "lock").open("w") as lock:
    fcntl.flock(lock, fcntl.LOCK_EX)
    with keeper.kept(commands, os.environ, folder, (lock.fileno(),)) as kept:
        (folder / "keeper").write_text(str(kept.pid))
        while kept.poll() is None:
            time.sleep(0.05)
"""
DEAF = """\
import os, signal, subprocess, sys, time
for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
    signal.signal(number, signal.SIG_IGN)
child = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(1000)"], process_group=0)
with open(sys.argv[1], "w") as told:
    told.write(f"{os.getpid()} {child.pid}")
time.sleep(1000)
"""


@pytest.fixture
def kept(tmp_path):
    """A program with a keeper: its process, and the family that is to end with it."""
    told, quiet = tmp_path / "told", tmp_path / "quiet"
    for fifo in (told, quiet):
        os.mkfifo(fifo)
    commands = {
        "deaf": [sys.executable, "-c", DEAF, str(told)],
        "quiet": ["sh", "-c", f"read line < {quiet}"],
    }
    with subprocess.Popen(
        [sys.executable, "-c", PROGRAM, json.dumps(commands), tmp_path],
        cwd=PROJECT,
        stderr=subprocess.DEVNULL,
    ) as program:
        deaf = [psutil.Process(int(number)) for number in told.read_text().split()]
        family = {*psutil.Process(program.pid).children(recursive=True), *deaf}
        yield program, family
        for each in filter(is_alive, family):  # where a test failed
            each.kill()
        program.kill()


def survivors(family, patience=10):
    """Who of them is alive after that many seconds; who waits for his parent is not."""
    end = time.monotonic() + patience
    while (alive := [one for one in family if is_alive(one)]) and time.monotonic() < end:
        time.sleep(0.05)
    return alive


def takes(lock):
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def is_alive(process):
    try:
        return process.is_running() and process.status() != psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return False


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGHUP, signal.SIGKILL])
def test_nothing_that_is_kept_outlives_the_process_that_serves(kept, number):
    program, family = kept
    assert len({one.pid for one in family}) == 4  # the keeper, two commands, a child of one
    program.send_signal(number)
    program.wait()

    assert survivors(family) == []


def test_nothing_that_is_kept_outlives_its_keeper(kept, tmp_path):
    program, family = kept
    os.kill(int((tmp_path / "keeper").read_text()), signal.SIGKILL)
    program.wait()

    assert survivors(family) == []


def test_when_one_command_ends_the_others_do_not_stay_half_a_service(kept, tmp_path):
    program, family = kept
    (tmp_path / "quiet").write_text("enough\n")
    program.wait()

    assert survivors(family) == []
    told = (tmp_path / "keeper.log").read_text()
    assert re.fullmatch(r"sh -c 'read line < .*' ended with exit code 0\n", told)


def test_the_lock_is_held_until_everything_that_is_kept_has_ended(kept, tmp_path):
    program, family = kept
    program.kill()
    program.wait()
    with (tmp_path / "lock").open() as lock:
        until(lambda: takes(lock), patience=10)

    assert survivors(family, patience=0) == []


class Up:
    """`make up` without make, with its state in a folder of the test."""

    def __init__(self, folder):
        self.folder = folder / "up"
        self.port = a_port()

    def start(self, **variables):
        return subprocess.Popen(
            [sys.executable, "-m", "examples.up", "--state", self.folder],
            cwd=PROJECT,
            env=os.environ | {"PORT": str(self.port)} | variables,
            stdout=subprocess.PIPE,
            text=True,
        )

    def refusal(self, **variables):
        """The one line with which it does not start."""
        with self.start(**variables) as process:
            said, _ = process.communicate(timeout=PATIENCE)
        assert process.returncode == 1
        return said.strip()


@pytest.fixture
def up(tmp_path):
    return Up(tmp_path)


def test_a_taken_port_is_refused_and_the_state_that_is_there_stays(up):
    up.folder.mkdir()
    with socket.socket() as other:
        other.bind(("127.0.0.1", up.port))
        other.listen()
        assert up.refusal().startswith(f"port {up.port} is taken; choose another: make up PORT=")

    assert up.folder.is_dir()


def test_a_second_one_is_refused_on_any_port_and_the_state_of_the_first_stays(up):
    (up.folder / "lake").mkdir(parents=True)
    with up.folder.with_suffix(".lock").open("w") as lock:
        lock.write(f"8123 {os.getpid()}")
        lock.flush()
        fcntl.flock(lock, fcntl.LOCK_EX)
        said = up.refusal()

    assert f"{up.folder} is taken by a running make up, as is port 8123" in said
    assert f"process {os.getpid()}" in said
    assert (up.folder / "lake").is_dir()


@pytest.mark.parametrize("port", ["http", "0", "65536", "-1"])
def test_a_port_that_is_none_is_refused_with_what_is_allowed(up, port):
    assert up.refusal(PORT=port) == f"PORT must be a number from 1 to 65535, not '{port}'"


def printed(process):
    """What it says about itself, up to the name of the folder with its logs."""
    said = {}
    for line in process.stdout:
        name, _, value = line.strip().partition(" ")
        said[name] = value.strip()
        if name == "logs":
            return said
    raise AssertionError(f"it ended without saying how to log in, but {said}")


def ends(folder):
    """How each log ends: the folder goes with the test, and who reads this has no other."""
    logs = sorted((folder / "logs").glob("*.log"))
    return "\n".join(f"== {log.name}\n{log.read_text()[-2000:]}" for log in logs)


@pytest.mark.heavy
def test_waves_and_a_backfill_by_time_arrive_behind_a_proxy_too_and_a_kill_leaves_nothing(up):
    # A proxy that nobody can reach: whatever asked it would fail.
    proxies = dict.fromkeys(("http_proxy", "https_proxy"), "http://127.0.0.1:9")
    with up.start(**proxies) as process:
        try:
            told = printed(process)
            family = psutil.Process(process.pid).children(recursive=True)
            site = Site(told["address"], told["user"], told["password"])
            until(lambda: site.dags() == DAGS)
            sources = [capture.source for capture in CAPTURES]
            for source in sources:
                site.pause(f"compact__{source}")  # Spark has end-to-end tests of its own
            again = {"topics": [TOPIC], "since": SINCE, "dry_run": False}
            waves = [("example__replay", {"source": source, "wave": 2}) for source in sources]
            assert site.run(waves) == {"success"}
            assert site.run([(f"land__{source}", {}) for source in sources]) == {"success"}
            assert site.run([(f"backfill__{AGAIN.source}", again)]) == {"success"}
        except Exception as error:
            error.add_note(ends(up.folder))
            raise
        finally:
            process.kill()

    assert re.fullmatch(r"\w{8,}", told["password"])
    assert survivors(family) == []
    for capture in CAPTURES:
        landing = DeltaTable(Stage(up.folder).source_lake(capture).landing)
        landed = landing.to_pyarrow_table(columns=["offset"]).num_rows
        twice = late() if capture is AGAIN else []
        assert landed == len(capture.records()) + len(twice)


def late():
    """The records of a topic that a backfill by time is to land again."""
    milliseconds = datetime.fromisoformat(SINCE).timestamp() * 1000
    own = [record for record in AGAIN.records() if record.at.topic == TOPIC]
    found = [record for record in own if record.timestamp >= milliseconds]
    assert 0 < len(found) < len(own)
    return found
