"""Rounds: every entrant once a round, each in a process of its own, the order turned each time."""

import json
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from bench.cases.case import Case, made
from bench.cases.copying import copied
from bench.cases.judge import before_the_stream, followed, judged
from bench.child import Job, Lap
from bench.contenders import CONTENDERS
from bench.process_tree import PeakMemory
from bench.result import Result
from bench.workloads import Workload

PROJECT = Path(__file__).resolve().parents[1]


@dataclass(frozen=True, slots=True)
class Entrant:
    """A contender on one of a workload's cases; `label` is the case's name there."""

    label: str
    case: Case
    contender: str


@dataclass(frozen=True, slots=True)
class Track:
    """Where races are held: a folder for cases and copies, and what every Spark gets."""

    folder: Path
    memory: str
    cores: int

    def race(self, workload: Workload, contenders: Sequence[str], rounds: int) -> Iterator[Result]:
        """All rounds of a workload, with those of its contenders that are asked for."""
        entrants = [
            Entrant(label, made(shape, self.folder / "cases"), contender)
            for label, shape in workload.shapes.items()
            for contender in workload.contenders
            if contender in contenders and (label, contender) not in workload.left_out
        ]
        for entrant in entrants:
            self._state(entrant)
        for number in range(rounds):
            for entrant in entrants[:: -1 if number % 2 else 1]:
                yield self._run(workload, entrant, number)

    def _state(self, entrant: Entrant) -> Path:
        """The history after the base, made once for all contenders that begin with the same."""
        state = CONTENDERS[entrant.contender].state
        folder = entrant.case.folder / "states" / state
        complete = folder.with_name(f"{state}.complete")
        if not complete.exists():
            shutil.rmtree(folder, ignore_errors=True)
            folder.mkdir(parents=True)
            self._child(entrant, [(str(folder), ())], prepare=True)
            complete.touch()
        return folder

    def _run(self, workload: Workload, entrant: Entrant, number: int) -> Result:
        race = self.folder / "race"
        shutil.rmtree(race, ignore_errors=True)
        folders = [race / str(lap) for lap in range(len(workload.laps))]
        for folder in folders:
            copied(self._state(entrant), folder)
        laps = [(str(f), batches) for f, batches in zip(folders, workload.laps, strict=True)]
        measured, peak = self._child(entrant, laps)
        wrong = _wrong(entrant, folders[-1], workload.laps[-1][-1])
        shutil.rmtree(race)
        return Result(
            workload=workload.name,
            label=entrant.label,
            contender=entrant.contender,
            round=number,
            peak=peak,
            wrong=wrong,
            **measured,
        )

    def _child(
        self, entrant: Entrant, laps: Sequence[Lap], *, prepare: bool = False
    ) -> tuple[dict[str, Any], int]:
        result, log = self.folder / "measured.json", self.folder / "child.log"
        result.unlink(missing_ok=True)
        job = Job(
            contender=entrant.contender,
            case=str(entrant.case.folder),
            laps=tuple(laps),
            memory=self.memory,
            cores=self.cores,
            result=str(result),
            launched=time.monotonic(),
            prepare=prepare,
        )
        command = [sys.executable, "-m", "bench.child", json.dumps(asdict(job))]
        with log.open("w") as noise:
            child = subprocess.Popen(command, cwd=PROJECT, stdout=noise, stderr=noise)
            with PeakMemory(child.pid) as memory:
                code = child.wait()
        if code or not result.exists():
            raise RuntimeError(f"{entrant.contender} on {entrant.label} failed: see {log}")
        return json.loads(result.read_text()), memory.bytes


def _wrong(entrant: Entrant, folder: Path, batch: int) -> str | None:
    """What is wrong with the history after that batch; None where nobody can say."""
    kind = CONTENDERS[entrant.contender]
    case = entrant.case
    if not (kind.whole or (kind.whole_into_nothing and not case.shape.base)):
        return None
    found = []
    for table in case.tables:
        history = kind(case, folder).history(table)
        verdict = judged(case.expected(table, batch), *history)
        if not verdict.right:
            found.append(
                f"{table}: {verdict.rows} rows for {verdict.expected}, "
                f"{verdict.wrong_keys} keys wrong"
            )
        if times := case.shape.repeated:
            there, wanted = before_the_stream(*history), times * followed(case.expected(table, 0))
            if there != wanted:
                found.append(f"{table}: {there} versions before the stream for {wanted}")
    return "; ".join(found)
