"""A standalone Spark cluster on this machine: a master and workers, each a process of its own.

They are those of the installed pyspark. They lie in an empty folder and have no variable of this
process but PATH, JAVA_HOME and SPARK_LOCAL_IP: whatever of this project an executor has, it was
sent. Master and workers are in one process group each with what they start, and end with the block.
"""

import os
import re
import signal
import subprocess
import threading
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Self

import pyspark

SPARK = Path(pyspark.__file__).parent
# A daemon dies with the process that has started it, also where that is killed and ends nothing.
_CLASS = ("setpriv", "--pdeathsig", "KILL", "--", str(SPARK / "bin" / "spark-class"))
_PATIENCE = 240.0  # seconds for a daemon to say what is waited for: the machine may be busy
_DAEMON = "-Dspark.master.rest.enabled=false -XX:+UseSerialGC -XX:TieredStopAtLevel=1"


@dataclass
class Daemon:
    """A process of Spark's, and what it has said."""

    process: subprocess.Popen[str]
    lines: list[str] = field(default_factory=list)
    news: threading.Condition = field(default_factory=threading.Condition)

    @staticmethod
    def started(folder: Path, kind: str, *arguments: str, core: int | None = None) -> "Daemon":
        """One of that class, in an empty folder of its own, and on one core where that is named."""
        folder.mkdir(parents=True)
        pinned = () if core is None else ("taskset", "--cpu-list", str(core))
        process = subprocess.Popen(
            [
                *pinned,
                *_CLASS,
                f"org.apache.spark.deploy.{kind}",
                "--host",
                "127.0.0.1",
                *arguments,
            ],
            cwd=folder,
            env=environment(),
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            process_group=0,
        )
        daemon = Daemon(process)
        threading.Thread(target=daemon._listen, daemon=True).start()
        return daemon

    def _listen(self) -> None:
        for line in self.process.stdout or ():
            self._hear(line.rstrip())
        self._hear("")  # its end

    def _hear(self, line: str) -> None:
        with self.news:
            self.lines.append(line)
            self.news.notify_all()

    def said(self, pattern: str, times: int = 1) -> list[str]:
        """Waits until so many of its lines have the pattern; the first group of each."""

        def heard() -> list[str]:
            found = (re.search(pattern, line) for line in self.lines)
            return [match[1] for match in found if match]

        with self.news:
            self.news.wait_for(lambda: len(heard()) >= times or self.lines[-1:] == [""], _PATIENCE)
            if len(heard()) < times:
                raise RuntimeError("\n".join([f"never said '{pattern}'", *self.lines[-20:]]))
            return heard()

    def kill(self) -> None:
        """SIGKILL, for the daemon alone: what it has started finds out by itself."""
        self.process.kill()
        self.process.wait()

    def end(self) -> None:
        """SIGKILL, with all that it has started."""
        with suppress(ProcessLookupError):
            os.killpg(self.process.pid, signal.SIGKILL)
        self.process.wait()


class Cluster:
    """The cluster, in a `with` block: so many workers of one core, an executor on each.

    `pinned`: each worker and what it starts have a core of this machine, and use no other. Without
    that the compiler, the collector and the Python beside a task take what cores there are.
    """

    def __init__(self, folder: Path, workers: int = 2, *, pinned: bool = False) -> None:
        self.folder, self._count = folder, workers
        self._cores = sorted(os.sched_getaffinity(0)) if pinned else []
        self.master: Daemon
        self.workers: list[Daemon] = []
        self.port = "0"
        self._started = 0

    @property
    def address(self) -> str:
        """What the `spark` connection of a source names."""
        return f"spark://127.0.0.1:{self.port}"

    def __enter__(self) -> Self:
        try:
            self.start_master()
            for _ in range(self._count):
                self.start_worker()
            self.wait_for_workers()
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        for daemon in [*self.workers, *([self.master] if hasattr(self, "master") else [])]:
            daemon.end()

    def start_master(self) -> None:
        """Starts the master; after another one, at that one's port."""
        self.master = self._daemon("master.Master", "--port", self.port, "--webui-port", "0")
        (self.port,) = self.master.said(r"Starting Spark master at spark://127\.0\.0\.1:(\d+)")
        self.master.said("(I have been elected leader)")

    def start_worker(self) -> None:
        """Starts a worker of one core."""
        size = ("--cores", "1", "--memory", "1536m")
        ports = ("--port", "0", "--webui-port", "0")
        core = self._cores[len(self.workers) % len(self._cores)] if self._cores else None
        worker = self._daemon("worker.Worker", *ports, *size, self.address, core=core)
        self.workers.append(worker)

    def wait_for_workers(self) -> None:
        """Returns when the master of now has had so many workers register as live."""
        live = sum(worker.process.poll() is None for worker in self.workers)
        self.master.said(r"(Registering worker 127\.0\.0\.1)", live)

    def _daemon(self, kind: str, *arguments: str, core: int | None = None) -> Daemon:
        self._started += 1
        return Daemon.started(self.folder / f"{self._started}-{kind}", kind, *arguments, core=core)


def environment() -> dict[str, str]:
    """All that a process of the cluster has of this one's environment."""
    names = ("PATH", "JAVA_HOME")
    own = {name: os.environ[name] for name in names if name in os.environ}
    # Of a daemon's web page Spark asks this variable where it is to listen.
    return {
        **own,
        "SPARK_LOCAL_IP": "127.0.0.1",
        "SPARK_DAEMON_MEMORY": "256m",
        "SPARK_DAEMON_JAVA_OPTS": _DAEMON,
    }
