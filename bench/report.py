"""What came out, as a page: a table of medians, and the ratios that count."""

import json
import os
from collections.abc import Iterator, Sequence
from dataclasses import asdict
from pathlib import Path
from statistics import median

from bench import machine, plot
from bench.race import Track
from bench.ratios import RATIOS
from bench.result import Result
from bench.workloads import Sizes, Workload

_MB = 1_000_000
_HEAD = (
    "| case | contender | median s | from, to | start s | read MB | written MB | lake grows MB "
    "| peak MB | history |\n|---|---|---:|---|---:|---:|---:|---:|---:|---|"
)

_LEGEND = (
    "Seconds are medians over all rounds of the batches that count; *start* is what passes before "
    "the first batch. *Read* and *written* are what went through read and write calls of the "
    "process tree, *lake grows* the bytes of new files, *peak* the memory of the tree, the JVM "
    "included. A history is *right* where every row of it is the one that follows from the "
    "workload."
)


def seconds(workload: Workload, result: Result, group: str) -> list[float]:
    """The times of the batches that count in a group."""
    return [batch["seconds"] for batch in batches(workload, result, group)]


def batches(workload: Workload, result: Result, group: str) -> list[dict[str, float]]:
    """What was measured of the batches of a group."""
    counted = set(workload.counted[group])
    return [each for each in result.batches if (each["lap"], each["batch"]) in counted]


def write(
    folder: Path, raced: Sequence[Workload], results: Sequence[Result], sizes: Sizes, track: Track
) -> None:
    """Writes `results.md`, and `results.json` with every single measurement."""
    told = {
        "machine": machine.described(),
        "load": os.getloadavg(),
        "memory": track.memory,
        "cores": track.cores,
        "sizes": asdict(sizes),
        "results": [asdict(result) for result in results],
    }
    (folder / "results.json").write_text(json.dumps(told, indent=1))
    given = f"{track.cores} cores and {track.memory} of driver memory for each contender"
    parts = [f"# Results\n\n{machine.described()}; {given}."]
    parts += ["![medians](results.svg)", _LEGEND]
    parts += ["\n".join(_ratio_lines(raced, results))]
    parts += ["\n".join(_workload_lines(workload, results)) for workload in raced]
    plot.write(folder / "results.svg", list(_panels(raced, results)))
    (folder / "results.md").write_text("\n\n".join(parts) + "\n")


def _ratio_lines(raced: Sequence[Workload], results: Sequence[Result]) -> Iterator[str]:
    yield "| what | measured | at least | aim |\n|---|---:|---:|---:|"
    known = {workload.name: workload for workload in raced}
    for ratio in RATIOS:
        if ratio.workload in known:
            found = ratio.measured(known[ratio.workload], results)
            shown = "" if found is None else f"{found:.2f}"
            yield f"| {ratio.told} | {shown} | {ratio.least} | {ratio.aim} |"


def _workload_lines(workload: Workload, results: Sequence[Result]) -> Iterator[str]:
    yield f"## {workload.name}\n\n{workload.told}."
    for group in workload.counted:
        yield f"\n### {group}\n\n{_HEAD}"
        for runs in _entrants(workload, results):
            yield _line(runs, _counted(workload, runs, group))


def _panels(raced: Sequence[Workload], results: Sequence[Result]) -> Iterator[plot.Panel]:
    for workload in raced:
        for group in workload.counted:
            bars = [
                _bar(runs, [each["seconds"] for each in _counted(workload, runs, group)])
                for runs in _entrants(workload, results)
            ]
            yield plot.Panel(f"{workload.name}, {group}", bars)


def _entrants(workload: Workload, results: Sequence[Result]) -> list[list[Result]]:
    """The rounds of each contender on each case."""
    found: dict[tuple[str, str], list[Result]] = {}
    for label in workload.shapes:
        for result in results:
            if (result.workload, result.label) == (workload.name, label):
                found.setdefault((label, result.contender), []).append(result)
    return list(found.values())


def _counted(workload: Workload, runs: Sequence[Result], group: str) -> list[dict[str, float]]:
    return [batch for run in runs for batch in batches(workload, run, group)]


def _bar(runs: Sequence[Result], times: Sequence[float]) -> plot.Bar:
    wrong = any(run.wrong for run in runs)
    first = runs[0]
    return plot.Bar(first.label, first.contender, median(times), min(times), max(times), wrong)


def _line(runs: Sequence[Result], counted: Sequence[dict[str, float]]) -> str:
    """One contender on one case: the medians of its batches in all rounds."""
    times = [batch["seconds"] for batch in counted]
    amounts = [
        f"{median(batch[name] for batch in counted) / _MB:.1f}"
        for name in ("read", "written", "grown")
    ]
    verdicts = {run.wrong for run in runs}
    history = "not judged" if verdicts == {None} else "right" if verdicts == {""} else "**wrong**"
    cells = [
        runs[0].label,
        runs[0].contender,
        f"{median(times):.2f}",
        f"{min(times):.2f}, {max(times):.2f}",
        f"{median(run.started for run in runs):.2f}",
        *amounts,
        f"{max(run.peak for run in runs) / _MB:.0f}",
        history,
    ]
    return f"| {' | '.join(cells)} |"
