"""The doors through which tasks write, and what befalls a process at one of them.

A step is `before` or `after` a write of a table: `before merge tables/t/history 1` is the first
merge of that table in the process. All writes of Spark and of delta-rs pass here, whoever asks for
them, so the list of steps is whatever an undisturbed run has passed.
"""

import json
import os
import signal
import threading
from collections import Counter
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import asdict, dataclass
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any

VARIABLE = "STRANDLINE_CHAOS"
REACHED = "reached its step:"

_here = threading.local()  # the table that this thread is writing to


@dataclass(frozen=True)
class Fate:
    """What befalls a process: at `step` it sends `signal` to the `victims`.

    In a step `*` stands for anything. Victims are `task` (this process) and `parent` (the Spark
    JVM that has started it). Without a step somebody else kills it, `after` that many seconds, or
    nobody does. Every step is noted in the file `trace`, by its path in the folder `lake`.
    """

    step: str = ""
    victims: tuple[str, ...] = ("task",)
    after: float | None = None
    signal: int = signal.SIGKILL
    trace: str = ""
    lake: str = ""

    @property
    def has_come(self) -> bool:
        """Whether somebody is or was at its step."""
        steps = Path(self.trace).read_text(encoding="utf-8").splitlines()
        return any(fnmatchcase(step, self.step) for step in steps)

    def variable(self) -> dict[str, str]:
        """As the environment of a process."""
        return {VARIABLE: json.dumps(asdict(self))}


def fate_of_environment() -> Fate:
    """That of this process."""
    told = json.loads(os.environ[VARIABLE])
    return Fate(**told | {"victims": tuple(told["victims"])})


class Doors:
    """The doors of this process, which a fate watches."""

    def __init__(self, fate: Fate, tell: Callable[[int], object]) -> None:
        self._fate = fate
        self._tell = tell
        self._passed: Counter[str] = Counter()
        self._lock = threading.Lock()
        self._open = ExitStack()

    @staticmethod
    def of_environment(tell: Callable[[int], object]) -> "Doors":
        """The fate that the environment names; `tell` gets the process's id at its step."""
        return Doors(fate_of_environment(), tell)

    def put(self, owner: Any, name: str, where: Callable[..., str]) -> None:
        """Puts a door before `owner.name`; `where` finds the written path in its arguments."""
        write = getattr(owner, name)
        door = name

        def through(*args: Any, **kwargs: Any) -> Any:
            place = where(*args, **kwargs).removeprefix("file:").rstrip("/")
            if not place:  # a job whose rows nobody wants
                return write(*args, **kwargs)
            step = self._numbered(f"{door} {os.path.relpath(place, self._fate.lake)}")
            self._reach(f"before {step}")
            result = write(*args, **kwargs)
            self._reach(f"after {step}")
            return result

        setattr(owner, name, through)
        self._open.callback(setattr, owner, name, write)

    def lift(self) -> None:
        """Takes all doors away."""
        self._open.close()

    def _numbered(self, place: str) -> str:
        with self._lock:
            self._passed[place] += 1
            return f"{place} {self._passed[place]}"

    def _reach(self, step: str) -> None:
        with self._lock, Path(self._fate.trace).open("a", encoding="utf-8") as trace:
            trace.write(f"{step}\n")
        if fnmatchcase(step, self._fate.step):
            self._tell(os.getpid())
            pids = {"task": os.getpid(), "parent": os.getppid()}
            for victim in sorted(self._fate.victims):  # the parent first: then nobody is left
                os.kill(pids[victim], self._fate.signal)


def of_spark(doors: Doors) -> None:
    """All ways in which a Spark application of this project writes."""
    from delta import tables  # noqa: PLC0415
    from pyspark.sql.readwriter import DataFrameWriter  # noqa: PLC0415
    from strandline_spark import files  # noqa: PLC0415

    from strandline.alone.stores.fencing import Kept  # noqa: PLC0415

    doors.put(Kept, "add", lambda kept, *_, **__: kept.uri)
    _remembering(tables.DeltaTable, "forPath", 1)
    _remembering(tables.DeltaTableBuilder, "location", 1)
    doors.put(DataFrameWriter, "save", lambda _, path="": path)
    doors.put(tables.DeltaMergeBuilder, "execute", lambda _: _here.path)
    doors.put(tables.DeltaTableBuilder, "execute", lambda _: _here.path)
    doors.put(tables.DeltaOptimizeBuilder, "executeCompaction", lambda _: _here.path)
    for name in ("delete", "vacuum"):
        doors.put(tables.DeltaTable, name, lambda *_: _here.path)
    doors.put(files, "write_text", lambda _, uri, __: uri)
    doors.put(files, "remove", lambda _, uri: uri)


def of_airflow(doors: Doors) -> None:
    """All ways in which a task without Spark writes."""
    from deltalake import DeltaTable  # noqa: PLC0415
    from strandline_airflow import ledger  # noqa: PLC0415
    from strandline_airflow.runs import folder as runs  # noqa: PLC0415

    doors.put(ledger, "write_deltalake", lambda table, *_, **__: table.table_uri)
    doors.put(DeltaTable, "create", lambda uri, *_, **__: uri)
    doors.put(runs, "write_text", lambda uri, _: uri)


def of_alone(doors: Doors) -> None:
    """All ways in which a run without Spark writes."""
    from strandline_airflow.runs import folder as runs  # noqa: PLC0415

    of_tables(doors)
    doors.put(runs, "write_text", lambda uri, _: uri)


def of_tables(doors: Doors) -> None:
    """All ways in which a whole table's part of a run writes."""
    from deltalake.table import DeltaTable, TableMerger, TableOptimizer  # noqa: PLC0415

    from strandline.alone.orders import erase  # noqa: PLC0415
    from strandline.alone.stores import fencing, files, scrubbing  # noqa: PLC0415

    for owner in (fencing, erase, scrubbing):
        doors.put(owner, "write_deltalake", lambda to, *_, **__: getattr(to, "table_uri", to))
    doors.put(files, "remove", lambda uri, *_: uri)
    doors.put(TableMerger, "execute", lambda merger: merger._table.table_uri())  # noqa: SLF001
    doors.put(TableOptimizer, "compact", lambda of, **_: of.table.table_uri)
    for name in ("delete", "vacuum", "create_checkpoint"):
        doors.put(DeltaTable, name, lambda table, *_, **__: table.table_uri)


def _remembering(owner: type, name: str, argument: int) -> None:
    """The path that a call names is where this thread writes next."""
    call = getattr(owner, name)

    def remembering(*args: Any) -> Any:
        _here.path = args[argument]
        return call(*args)

    setattr(owner, name, remembering)
