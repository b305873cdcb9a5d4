"""`make up`: Airflow on this machine with the example sources, until Ctrl-C.

The brokers hold the first wave; DAG `example__replay` sends the second. They are Apache Kafka,
which knows offsets by time, as a backfill may ask for them. Brokers and Airflow end however this
process ends.
"""

import argparse
import fcntl
import json
import operator
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from pathlib import Path
from types import FrameType
from typing import TextIO
from urllib.request import ProxyHandler, build_opener

import psutil
from rich.console import Console
from rich.text import Text
from tenacity import RetryError, Retrying, retry_if_result, stop_after_delay, wait_fixed

from examples.apache_kafka import ApacheKafka
from examples.broker import Broker
from examples.captures import CAPTURES, WAVES
from examples.keeper import Process, kept
from examples.stage import PROJECT, Stage, surroundings

STATE = PROJECT / ".strandline" / "up"
_HOST = "127.0.0.1"
_PORT = 8080
_PORTS = range(1, 65536)
_USER = "admin"
_PATIENCE = 120  # seconds for Airflow to start
_FAREWELL = 10  # seconds for an earlier `make up` that was killed to be gone
_ENDINGS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
# What `airflow standalone` starts, without the log servers that listen on every interface.
_COMPONENTS = {
    "scheduler": ("--skip-serve-logs",),
    "dag-processor": (),
    "api-server": (),
    "triggerer": ("--skip-serve-logs",),
}
_WHAT_NEXT = """
The first wave is in Kafka. land__SOURCE lands it now, and then looks again every five minutes;
compact__SOURCE follows by itself. Trigger example__replay for each source: it sends the second
wave. Trigger land__SOURCE once more, or wait. Ctrl-C stops everything.
"""


class UpError(Exception):
    """Airflow could not be served; the text says why or names the log."""


def main() -> int:
    """Serves until Ctrl-C; 1 where it could not start."""
    console = Console(highlight=False)
    _listen()
    try:
        _serve(console, Stage(_state()), _port())
    except KeyboardInterrupt:
        console.print("stopped; every process that was started has ended")
        return 0
    except UpError as error:
        console.print(Text(str(error), style="red"), soft_wrap=True)
    return 1


def _state() -> Path:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--state", type=Path, default=STATE, help="folder for everything it keeps")
    folder: Path = parser.parse_args().state
    return folder.resolve()


def _port() -> int:
    given = os.environ.get("PORT") or str(_PORT)
    if not given.isdecimal() or int(given) not in _PORTS:
        raise UpError(f"PORT must be a number from {_PORTS[0]} to {_PORTS[-1]}, not {given!r}")
    return int(given)


def _listen() -> None:
    for ending in _ENDINGS:
        # Under `nohup` a closed terminal is to end nothing. Ctrl-C is different: a shell script
        # starts its background jobs with it ignored.
        if ending != signal.SIGHUP or signal.getsignal(ending) != signal.SIG_IGN:
            signal.signal(ending, _interrupt)


def _interrupt(_signal: int, _frame: FrameType | None) -> None:
    # Once: a second Ctrl-C is not to interrupt the stopping.
    for ending in _ENDINGS:
        signal.signal(ending, signal.SIG_IGN)
    raise KeyboardInterrupt


def _serve(console: Console, stage: Stage, port: int) -> None:
    starter = os.getppid()
    with _alone(stage.folder, port) as lock, ExitStack() as running:
        _refuse_taken(port)
        stage.clear()
        with console.status("starting Kafka"):
            around = running.enter_context(surroundings(_broker))
            for capture in CAPTURES:
                around.kafka[capture.source].replay(capture.wave(WAVES[0]))
        environment = _environment(stage, around.connections(), port)
        with console.status("preparing Airflow's database"):
            _prepare(environment, stage.logs / "prepare.log", lock)
        keeper = running.enter_context(kept(_commands(), environment, stage.logs, (lock,)))
        with console.status("starting Airflow"):
            _wait_until_healthy(keeper, port, stage.logs)
        _say(console, stage, port)
        _stay(keeper, starter)
    raise UpError(f"Airflow ended by itself; its logs are in {stage.logs}")


def _broker() -> Broker:
    try:
        return ApacheKafka()
    except FileNotFoundError as error:
        raise UpError(str(error)) from error


def _stay(keeper: Process, starter: int) -> None:
    while keeper.poll() is None:
        if os.getppid() != starter:
            raise KeyboardInterrupt  # make was killed, and no Ctrl-C would arrive any more
        time.sleep(0.5)


@contextmanager
def _alone(folder: Path, port: int) -> Iterator[int]:
    """The lock of a state folder, as a descriptor: whoever inherits it holds the lock too.

    Waits for the rest of an earlier `make up` that was killed; `UpError` where one is running.
    """
    folder.parent.mkdir(parents=True, exist_ok=True)
    with folder.with_suffix(".lock").open("a+", encoding="utf-8") as lock:
        trying = Retrying(
            retry=retry_if_result(operator.not_),
            stop=stop_after_delay(_FAREWELL) | (lambda _: _owner(lock) is not None),
            wait=wait_fixed(0.1),
        )
        try:
            trying(_lock, lock.fileno())
        except RetryError as error:
            owner = _owner(lock) or "what an earlier make up left running"
            raise UpError(f"{folder} is taken by {owner}; end it first") from error
        lock.truncate(0)
        lock.write(f"{port} {os.getpid()}")
        lock.flush()
        yield lock.fileno()


def _owner(lock: TextIO) -> str | None:
    """Who wrote himself into the lock file, while he lives."""
    lock.seek(0)
    port, _, number = lock.read().partition(" ")
    try:
        alive = psutil.Process(int(number)).status() != psutil.STATUS_ZOMBIE
    except (ValueError, psutil.NoSuchProcess):
        return None
    return f"a running make up, as is port {port} (process {number})" if alive else None


def _lock(descriptor: int) -> bool:
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def _refuse_taken(port: int) -> None:
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((_HOST, port))
        except PermissionError as error:
            raise UpError(f"port {port} is not for this user; {_another(port)}") from error
        except OSError as error:
            raise UpError(f"port {port} is taken; {_another(port)}") from error


def _another(port: int) -> str:
    return f"choose another: make up PORT={_PORT + 1 if port == _PORT else _PORT}"


def _environment(stage: Stage, connections: Mapping[str, str], port: int) -> dict[str, str]:
    """The demo's environment, and what a server needs besides. Nothing leaves the loopback."""
    unproxied = os.environ.get("no_proxy") or os.environ.get("NO_PROXY") or ""
    no_proxy = ",".join([*filter(None, [unproxied]), _HOST, "localhost"])
    bundles = {"dags-folder": PROJECT / "dags", "examples": PROJECT / "examples" / "dags"}
    return stage.environment(_home(stage), connections) | {
        # Its parts talk over HTTP, which no proxy between this machine and the world can pass on.
        "NO_PROXY": no_proxy,
        "no_proxy": no_proxy,
        "AIRFLOW__API__HOST": _HOST,
        "AIRFLOW__API__PORT": str(port),
        "AIRFLOW__API__BASE_URL": f"http://{_HOST}:{port}",
        "AIRFLOW__API__WORKERS": "1",
        "AIRFLOW__CORE__PARALLELISM": "4",
        "AIRFLOW__CORE__DAGS_ARE_PAUSED_AT_CREATION": "False",
        "AIRFLOW__DAG_PROCESSOR__REFRESH_INTERVAL": "30",
        "AIRFLOW__DAG_PROCESSOR__DAG_BUNDLE_CONFIG_LIST": json.dumps(
            [
                {
                    "name": name,
                    "classpath": "airflow.dag_processing.bundles.local.LocalDagBundle",
                    "kwargs": {"path": str(path)},
                }
                for name, path in bundles.items()
            ]
        ),
    }


def _home(stage: Stage) -> Path:
    return stage.folder / "airflow"


def _prepare(environment: Mapping[str, str], log: Path, lock: int) -> None:
    for module, *arguments in (("airflow", "db", "migrate"), ("strandline_airflow.pools",)):
        with log.open("ab") as output:
            done = subprocess.run(
                [sys.executable, "-m", module, *arguments],
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=output,
                pass_fds=(lock,),
                cwd=PROJECT,
                env=dict(environment),
                check=False,
            )
        if done.returncode:
            raise UpError(f"{module} {' '.join(arguments)} failed; its log is {log}")


def _commands() -> dict[str, list[str]]:
    airflow = [sys.executable, "-m", "airflow"]
    return {name: [*airflow, name, *options] for name, options in _COMPONENTS.items()}


def _wait_until_healthy(keeper: Process, port: int, logs: Path) -> None:
    waiting = Retrying(
        retry=retry_if_result(operator.not_),
        stop=stop_after_delay(_PATIENCE) | (lambda _: keeper.poll() is not None),
        wait=wait_fixed(0.5),
    )
    try:
        waiting(_is_healthy, port)
    except RetryError as error:
        raise UpError(f"Airflow did not start; its logs are in {logs}") from error


def _is_healthy(port: int) -> bool:
    directly = build_opener(ProxyHandler({}))
    try:
        with directly.open(f"http://{_HOST}:{port}/api/v2/monitor/health", timeout=5) as answer:
            health = json.load(answer)
    except (OSError, ValueError):
        return False
    return all(health[part]["status"] == "healthy" for part in ("scheduler", "dag_processor"))


def _say(console: Console, stage: Stage, port: int) -> None:
    passwords = _home(stage) / "simple_auth_manager_passwords.json.generated"
    password = json.loads(passwords.read_text(encoding="utf-8"))[_USER]
    lines = (
        ("address ", f"http://{_HOST}:{port}"),
        ("user    ", _USER),
        ("password", password),
        ("lake    ", str(stage.lake)),
        ("logs    ", str(stage.logs)),
    )
    for name, value in lines:
        console.print(Text(f"{name}  {value}"), soft_wrap=True)
    console.print(_WHAT_NEXT, soft_wrap=True)


if __name__ == "__main__":
    sys.exit(main())
