"""Airflow as people install it: its parts in processes of their own, on PostgreSQL.

Each part has a keeper, so that one may be killed, with all that it started, and the rest goes on.
"""

import json
import secrets
import shlex
import shutil
import signal
import subprocess
import sys
from collections.abc import Mapping, Sequence
from contextlib import ExitStack, suppress
from pathlib import Path
from types import TracebackType
from typing import Self
from urllib.error import URLError
from urllib.request import ProxyHandler, build_opener

import psutil
from cryptography.fernet import Fernet

from examples import keeper, sessions
from examples.captures import Capture
from examples.stage import PROJECT, Stage, Surroundings, surroundings
from installations import postgres
from installations.site import PATIENCE, Site, a_port, until

_HOST = "127.0.0.1"
_SQLITE = ("SQL_ALCHEMY_CONNECT_ARGS", "SQL_ALCHEMY_CONNECT_ARGS_ASYNC")
PARTS = {"api-server": ("api-server",), "dag-processor": ("dag-processor",)}


def scheduler(name: str) -> dict[str, Sequence[str]]:
    """A scheduler, without the server of logs that listens on every interface."""
    return {name: ("scheduler", "--skip-serve-logs")}


class Installation:
    """An Airflow with some of the examples' sources, for as long as the `with` block lasts.

    `parts` are the arguments of `airflow` by the name of a process, `settings` further variables
    of all of them.
    """

    def __init__(
        self,
        folder: Path,
        captures: Sequence[Capture],
        parts: Mapping[str, Sequence[str]],
        settings: Mapping[str, str],
    ) -> None:
        self.stage = Stage(folder / "installation")
        self.captures = captures
        self._parts = {**PARTS, **parts}
        self._settings = settings
        self._keepers: dict[str, keeper.Process] = {}
        self._port = a_port()

    def __enter__(self) -> Self:
        self.stage.clear()
        self._running = ExitStack()
        try:
            self._open(self._running)
        except BaseException as error:
            error.add_note(self.logs())
            self._running.close()
            raise
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if error is not None:
            error.add_note(self.logs())
        self._running.close()

    def _open(self, running: ExitStack) -> None:
        database = running.enter_context(postgres.opened())
        around = running.enter_context(surroundings())
        self.kafka = around.kafka
        self._environment = self._variables(database, around)
        self._airflow("db", "migrate")
        self._run("strandline_airflow.pools")
        running.callback(self._end)
        for name in self._parts:
            self.start(name)
        until(self._is_healthy)
        passwords = self._home / "simple_auth_manager_passwords.json.generated"
        password = json.loads(passwords.read_text(encoding="utf-8"))["admin"]
        self.site = Site(self._address, "admin", password)
        wanted = {
            f"{what}__{capture.source}" for capture in self.captures for what in ("land", "compact")
        }
        until(lambda: wanted <= self.site.dags())

    def start(self, name: str) -> None:
        """Starts a part of it."""
        command = [sys.executable, "-m", "airflow", *self._parts[name]]
        started = keeper.started({name: command}, self._environment, self.stage.logs)
        self._keepers[name] = started

    def kill(self, name: str) -> None:
        """Kills a part with all that it has started, tasks and their Spark."""
        sessions.end([self._keepers.pop(name)], signal.SIGKILL)

    def programs(self, name: str) -> str:
        """The command lines of all that a part has started."""
        lines = []
        for one in psutil.Process(self._keepers[name].pid).children(recursive=True):
            with suppress(psutil.NoSuchProcess):  # it has ended meanwhile
                lines.append(shlex.join(one.cmdline()))
        return "\n".join(lines)

    def log(self, name: str) -> str:
        """What a part has said so far."""
        return (self.stage.logs / f"{name}.log").read_text(encoding="utf-8")

    def logs(self) -> str:
        """How each log ends: the folder goes with the test, and who reads this has no other."""
        logs = sorted(self.stage.logs.glob("*.log"))
        return "\n".join(f"== {log.name}\n{log.read_text()[-2000:]}" for log in logs)

    def _end(self) -> None:
        sessions.end(self._keepers.values(), signal.SIGKILL)

    @property
    def _home(self) -> Path:
        return self.stage.folder / "airflow"

    @property
    def _address(self) -> str:
        return f"http://{_HOST}:{self._port}"

    def _variables(self, database: str, around: Surroundings) -> dict[str, str]:
        sources = self.stage.folder / "sources"
        sources.mkdir()
        for capture in self.captures:
            shutil.copy(PROJECT / "dags" / "sources" / f"{capture.source}.toml", sources)
        play = self.stage.environment(self._home, around.connections())
        for name in _SQLITE:
            del play[f"AIRFLOW__DATABASE__{name}"]
        return play | {
            "STRANDLINE_SOURCES": str(sources),
            "STRANDLINE_SPARK_ARCHIVE": "none",
            "AIRFLOW__API__BASE_URL": self._address,
            "AIRFLOW__API__HOST": _HOST,
            "AIRFLOW__API__PORT": str(self._port),
            "AIRFLOW__API__SECRET_KEY": secrets.token_hex(16),
            "AIRFLOW__API__WORKERS": "1",
            "AIRFLOW__API_AUTH__JWT_SECRET": secrets.token_hex(32),
            "AIRFLOW__CORE__DAGS_ARE_PAUSED_AT_CREATION": "False",
            "AIRFLOW__CORE__EXECUTION_API_SERVER_URL": f"{self._address}/execution/",
            "AIRFLOW__CORE__FERNET_KEY": Fernet.generate_key().decode(),
            "AIRFLOW__CORE__PARALLELISM": "8",
            "AIRFLOW__DATABASE__SQL_ALCHEMY_CONN": f"postgresql+psycopg2://{database}",
            **{name: value.format(database=database) for name, value in self._settings.items()},
        }

    def _airflow(self, *arguments: str) -> None:
        self._run("airflow", *arguments)

    def _run(self, module: str, *arguments: str) -> None:
        with (self.stage.logs / "prepare.log").open("ab") as log:
            subprocess.run(
                [sys.executable, "-m", module, *arguments],
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                cwd=PROJECT,
                env=self._environment,
                check=True,
            )

    def _is_healthy(self) -> bool:
        directly = build_opener(ProxyHandler({}))
        try:
            with directly.open(
                f"{self._address}/api/v2/monitor/health", timeout=PATIENCE
            ) as answer:
                health = json.load(answer)
        except (URLError, OSError, ValueError):
            return False
        return all(health[part]["status"] == "healthy" for part in ("scheduler", "dag_processor"))
