"""A story: waves of records are landed, compacted and published, whatever befalls the tasks."""

import json
import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack, suppress
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, Self

from pyspark.sql import SparkSession
from stages import airflow_stage

from chaos import nursery, tasks
from chaos.doors import Fate
from chaos.nursery import PARTS, PROJECT, Child
from examples.embedded_kafka import EmbeddedKafka
from strandline.changes.record import Record
from strandline.runs import spark
from strandline.runs.lake import SourceLake
from strandline.runs.way import Way

SOURCE = "shop"
NOON = datetime(2026, 11, 20, 12, tzinfo=UTC)

_SUBMIT = PROJECT / "plugins" / "strandline_airflow" / "submission" / "bin" / "spark-submit"
_CONF = {
    **spark.SETTINGS,
    **spark.LOOPBACK,
    "spark.driver.memory": "1g",
    "spark.log.level": "ERROR",
    "spark.databricks.delta.snapshotPartitions": "1",
    "spark.sql.shuffle.partitions": "1",
}
_PATIENCE_SECONDS = 900  # a machine may stand still; a task that hangs is a fault all the same

# In the source file, above its sections.
_ENGINE = {
    Way.AUTO: "",
    Way.SPREAD: 'spark = { way = "spread" }',
    Way.ALONE: 'engine = "alone"',
}

Befall = Callable[[str], Fate | None]


def undisturbed(_: str) -> None:
    """Nothing befalls any task."""


@dataclass(frozen=True)
class Ended:
    """How an attempt ended: what it printed, whether by itself and well, and the steps it took."""

    task: str
    fate: Fate | None
    ok: bool
    text: str
    seconds: float
    steps: tuple[str, ...]

    @property
    def was_killed(self) -> bool:
        """Whether its fate came to pass; where that is a worker's, the attempt may end well."""
        return self.fate is not None and (not self.ok or self.fate.has_come)


@dataclass
class Story:
    """One source, its broker and its lake in a folder; use it in a `with` block.

    Compactions go the `way`: spread, or `AUTO` in tasks that take whole tables, on the JVM of
    `spark`, but for those that are to lose theirs; or alone without any.
    """

    folder: Path
    topics: dict[str, int]
    spark: SparkSession
    way: Way = Way.SPREAD
    attempts: list[Ended] = field(default_factory=list)

    def __enter__(self) -> Self:
        self._open = ExitStack()
        self.broker = self._open.enter_context(EmbeddedKafka())
        for topic, partitions in self.topics.items():
            self.broker.create_topic(topic, partitions)
        self.folder.mkdir(parents=True, exist_ok=True)
        self._source.write_text(
            f'connector = "postgresql"\nlake = "{self.lake.root}"\n{_ENGINE[self.way]}\n'
            f'[kafka]\nconnection = "kafka_shop"\ntopic_prefix = "{SOURCE}"\n'
        )
        return self

    def __exit__(self, *_: object) -> None:
        self._open.close()

    @property
    def lake(self) -> SourceLake:
        return SourceLake(str(self.folder / "lake"), SOURCE)

    @property
    def _source(self) -> Path:
        return self.folder / f"{SOURCE}.toml"

    def tell(
        self,
        waves: Sequence[Sequence[Record]],
        befall: Befall = undisturbed,
        *,
        number: int = 0,
        manifest: str = "",
    ) -> None:
        """All waves, from Kafka to the publication.

        `befall` is asked before every attempt at a task what is to happen to it; a task whose
        process did not end well is tried again. `number` waves were before, and the last one's
        `manifest` is compacted and not published yet.
        """
        for each, wave in enumerate([*waves, []], number):
            manifest = self.around(each, wave, manifest, befall)
            if manifest:
                self.compact(each, manifest, befall)

    def around(
        self,
        number: int,
        wave: Sequence[Record],
        manifest: str = "",
        befall: Befall = undisturbed,
    ) -> str:
        """The tasks between two compactions; the next manifest, empty where there is no news."""
        self.broker.replay(wave)
        moment = (NOON + timedelta(hours=number)).isoformat()
        answer = self.folder / "answer"
        arguments = (str(self._source), moment, manifest, str(answer))
        self._until_done(
            f"around {number}", lambda fate: self._fork(tasks.around, arguments, fate), befall
        )
        return answer.read_text(encoding="utf-8")

    def order(
        self, what: str, number: int, given: Mapping[str, Any], befall: Befall = undisturbed
    ) -> None:
        """What a form asks for, from its plan to its publication; so many hours after noon."""
        answer = self.folder / "answer"
        moment = (NOON + timedelta(hours=number)).isoformat()
        plan = (str(self._source), moment, what, json.dumps(given), str(answer))
        self._until_done(f"plan {what}", lambda fate: self._fork(tasks.ordered, plan, fate), befall)
        manifest = answer.read_text(encoding="utf-8")
        self.compact(what, manifest, befall)
        self._until_done(
            f"publish {what}", lambda fate: self._fork(tasks.published, (manifest,), fate), befall
        )

    def compact(self, number: int | str, manifest: str, befall: Befall = undisturbed) -> None:
        """Spark, until it has done what the manifest says; `number` names the wave or order."""
        self._until_done(f"compact {number}", lambda fate: self._compaction(manifest, fate), befall)

    def driver(self, manifest: str, fate: Fate | None = None) -> Child:
        """Starts a process that works the manifest off, on the JVM that stays or alone."""
        task = tasks.alone if self.way is Way.ALONE else tasks.compaction
        return self._forked(task, (manifest,), self._traced(fate))

    def submit(self, manifest: str, fate: Fate | None = None) -> subprocess.Popen[str]:
        """Starts a `spark-submit` that does."""
        return self._submitted(manifest, self._traced(fate))

    def _until_done(
        self, task: str, attempt: Callable[[Fate], tuple[bool, str]], befall: Befall
    ) -> None:
        """Attempts at the task until one ends well; AssertionError where one fails by itself."""
        while True:
            fate = befall(task)
            traced = self._traced(fate)
            began = time.monotonic()
            ok, text = attempt(traced)
            seconds = time.monotonic() - began
            steps = tuple(Path(traced.trace).read_text(encoding="utf-8").splitlines())
            came = None if fate is None else traced
            self.attempts.append(Ended(task, came, ok, text, seconds, steps))
            if ok:
                return
            assert fate is not None, f"{task} failed by itself:\n{text}"

    def _compaction(self, manifest: str, fate: Fate) -> tuple[bool, str]:
        """A driver on the JVM that stays, unless the JVM is to be killed."""
        if self.way is Way.ALONE:  # which has no JVM to lose
            return self._fork(tasks.alone, (manifest,), replace(fate, victims=("task",)))
        if "parent" not in fate.victims:
            return self._fork(tasks.compaction, (manifest,), fate)
        process = self._submitted(manifest, fate)
        text = _until_dead(process, fate)
        return process.returncode == 0, text

    def _fork(
        self, task: Callable[..., None], arguments: tuple[str, ...], fate: Fate
    ) -> tuple[bool, str]:
        child = self._forked(task, arguments, fate)
        child.process.join(_PATIENCE_SECONDS if fate.after is None else fate.after)
        if child.process.exitcode is None:
            child.process.kill()
            child.process.join()
            assert fate.after is not None, f"it hangs:\n{child.output.read_text()}"
        return child.process.exitcode == 0, child.output.read_text(encoding="utf-8")

    def _forked(self, task: Callable[..., None], arguments: tuple[str, ...], fate: Fate) -> Child:
        environment = {**self._environment(fate), **tasks.standing(self.spark)}
        output = Path(fate.trace).with_suffix(".log")
        output.touch()
        return nursery.start(tasks.run, task, arguments, environment, output)

    def _submitted(self, manifest: str, fate: Fate) -> subprocess.Popen[str]:
        conf = [word for name, value in _CONF.items() for word in ("--conf", f"{name}={value}")]
        package = ["--packages", "io.delta:delta-spark_4.2_2.13:4.4.0"]
        application = str(PROJECT / "tests" / "chaos" / "compacting.py")
        options = ["--master", "local[2]", *package, *conf]
        return subprocess.Popen(
            [str(_SUBMIT), *options, application, "--manifest", manifest],
            cwd=PROJECT,
            env={**os.environ, **self._environment(fate)},
            text=True,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
        )

    def _traced(self, fate: Fate | None) -> Fate:
        trace = self.folder / f"{time.monotonic_ns()}.trace"
        trace.touch()
        return replace(fate or Fate(), trace=str(trace), lake=self.lake.home)

    def _environment(self, fate: Fate) -> dict[str, str]:
        return {
            **fate.variable(),
            "PYTHONPATH": os.pathsep.join(PARTS),
            "AIRFLOW_CONN_KAFKA_SHOP": airflow_stage.kafka_connection(self.broker.bootstrap),
            "STRANDLINE_SPARK_SUBMIT": str(Path(sys.executable).with_name("spark-submit")),
            "PYSPARK_PYTHON": sys.executable,
            "SPARK_CONF_DIR": str(PROJECT / "examples" / "spark"),
            "SPARK_LOCAL_IP": "127.0.0.1",
            "TMPDIR": str(self.folder),
            "SPARK_LOCAL_DIRS": str(self.folder / "spark"),
        }

    def clear(self) -> None:
        """Removes everything."""
        shutil.rmtree(self.folder)


def _until_dead(process: subprocess.Popen[str], fate: Fate) -> str:
    """What was printed until nobody could print any more."""
    if fate.after is not None:
        try:
            return process.communicate(timeout=fate.after)[0]
        except subprocess.TimeoutExpired:
            _kill(process.pid, fate.victims)
    return process.communicate(timeout=_PATIENCE_SECONDS)[0]


def _kill(parent: int, victims: Sequence[str]) -> None:
    """Kills a JVM and the driver program that it has started, or one of them.

    A JVM that has not started its program yet is killed in its place.
    """
    children = Path(f"/proc/{parent}/task/{parent}/children")
    started = [int(pid) for pid in children.read_text().split()]
    chosen = [parent] if "parent" in victims or not started else []
    for pid in [*chosen, *(started if "task" in victims else [])]:
        with suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)
