"""`make up`: Airflow on this machine with the example sources, until Ctrl-C.

The brokers run inside this process and hold the first wave; DAG `example__replay` sends the second.
"""

import json
import operator
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from types import FrameType
from typing import IO
from urllib.request import urlopen

from rich.console import Console
from rich.text import Text
from tenacity import RetryError, Retrying, retry_if_result, stop_after_delay, wait_fixed

from examples import sessions
from examples.captures import CAPTURES, WAVES
from examples.stage import PROJECT, Stage, brokers

STATE = PROJECT / ".strandline" / "up"
_HOST = "127.0.0.1"
_PORT = "8080"
_USER = "admin"
_PATIENCE = 120  # seconds for Airflow to start
_COMPONENTS = {
    "scheduler": ("--skip-serve-logs",),
    "dag-processor": (),
    "api-server": (),
    "triggerer": ("--skip-serve-logs",),
}
_WHAT_NEXT = """
The first wave is in Kafka. Trigger land__postgres_inventory, or wait: it runs every five minutes.
compact__postgres_inventory follows by itself. Then trigger example__replay, which sends the second
wave, and land again. Ctrl-C stops everything.
"""


Component = subprocess.Popen[str]


class UpError(Exception):
    """Airflow could not be served; the text says why or names the log."""


def main() -> int:
    """Serves until Ctrl-C; 1 where it could not start."""
    console = Console(highlight=False)
    for ending in (signal.SIGTERM, signal.SIGINT):
        signal.signal(ending, _interrupt)
    try:
        _serve(console, int(os.environ.get("PORT", _PORT)))
    except KeyboardInterrupt:
        console.print("stopped; every process that was started has ended")
        return 0
    except UpError as error:
        console.print(Text(str(error), style="red"))
        return 1
    return 1


def _interrupt(_signal: int, _frame: FrameType | None) -> None:
    raise KeyboardInterrupt


def _serve(console: Console, port: int) -> None:
    _refuse_taken(port)
    stage = Stage(STATE)
    stage.clear()
    with brokers() as kafka:
        for capture in CAPTURES:
            kafka[capture.source].replay(capture.wave(WAVES[0]))
        addresses = {source: broker.bootstrap for source, broker in kafka.items()}
        environment = _environment(stage, addresses, port)
        with console.status("preparing Airflow's database"):
            _prepare(environment, stage.logs / "prepare.log")
        with _airflow(environment, stage.logs) as components:
            with console.status("starting Airflow"):
                _wait_until_healthy(components, port, stage.logs)
            _say(console, stage, port)
            while not _ended(components):
                time.sleep(0.5)
    raise UpError(f"Airflow ended by itself; its logs are in {stage.logs}")


def _refuse_taken(port: int) -> None:
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((_HOST, port))
        except OSError as error:
            raise UpError(f"port {port} is taken; choose another: make up PORT=8081") from error


def _environment(stage: Stage, addresses: Mapping[str, str], port: int) -> dict[str, str]:
    """The demo's environment, and what a server needs besides. Nothing leaves the loopback."""
    bundles = {"dags-folder": PROJECT / "dags", "examples": PROJECT / "examples" / "dags"}
    return stage.environment(_home(stage), addresses) | {
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


def _prepare(environment: Mapping[str, str], log: Path) -> None:
    for module, *arguments in (("airflow", "db", "migrate"), ("strandline_airflow.pools",)):
        with log.open("ab") as output:
            done = subprocess.run(
                [sys.executable, "-m", module, *arguments],
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=output,
                cwd=PROJECT,
                env=dict(environment),
                check=False,
            )
        if done.returncode:
            raise UpError(f"{module} {' '.join(arguments)} failed; its log is {log}")


@contextmanager
def _airflow(environment: Mapping[str, str], logs: Path) -> Iterator[list[Component]]:
    """What `airflow standalone` starts, without the log servers that listen on every interface."""
    components: list[Component] = []
    try:
        for name, options in _COMPONENTS.items():
            with (logs / f"{name}.log").open("ab") as output:
                components.append(_component([name, *options], environment, output))
        yield components
    finally:
        # Their own way to stop is Ctrl-C.
        sessions.end(components, signal.SIGINT)


def _component(
    arguments: Sequence[str], environment: Mapping[str, str], output: IO[bytes]
) -> Component:
    return subprocess.Popen(
        [sys.executable, "-m", "airflow", *arguments],
        stdin=subprocess.DEVNULL,
        stdout=output,
        stderr=output,
        start_new_session=True,
        cwd=PROJECT,
        env=dict(environment),
        text=True,
    )


def _ended(components: Sequence[Component]) -> bool:
    return any(component.poll() is not None for component in components)


def _wait_until_healthy(components: Sequence[Component], port: int, logs: Path) -> None:
    waiting = Retrying(
        retry=retry_if_result(operator.not_),
        stop=stop_after_delay(_PATIENCE) | (lambda _: _ended(components)),
        wait=wait_fixed(0.5),
    )
    try:
        waiting(_is_healthy, port)
    except RetryError as error:
        raise UpError(f"Airflow did not start; its logs are in {logs}") from error


def _is_healthy(port: int) -> bool:
    try:
        with urlopen(f"http://{_HOST}:{port}/api/v2/monitor/health", timeout=5) as answer:
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
