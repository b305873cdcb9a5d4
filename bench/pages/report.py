"""What came out, as a page: a table of medians, and the ratios that count."""

from collections.abc import Iterator, Sequence
from pathlib import Path
from statistics import median

from bench.pages import plot, scaling
from bench.pages.measurement import Measurement, read
from bench.pages.ratios import RATIOS
from bench.result import Result
from bench.workloads import Workload

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


def write(folder: Path) -> None:
    """Writes `results.md` and `results.svg` of all measurements in a folder."""
    measured = read(folder)
    parts = ["# Results", "![medians](results.svg)", _LEGEND, "\n".join(_ratio_lines(measured))]
    parts += ["\n".join(_workload_lines(each)) for each in measured]
    plot.write(folder / "results.svg", list(_panels(measured)))
    (folder / "results.md").write_text("\n\n".join(parts) + "\n")


def _ratio_lines(measured: Sequence[Measurement]) -> Iterator[str]:
    yield "| what | measured | at least | aim |\n|---|---:|---:|---:|"
    known = {each.name: each for each in measured}
    for ratio in RATIOS:
        if ratio.workload in known:
            each = known[ratio.workload]
            found = ratio.measured(each.workload, each.results)
            shown = "" if found is None else f"{found:.2f}"
            yield f"| {ratio.told} | {shown} | {ratio.least} | {ratio.aim} |"


def _workload_lines(measured: Measurement) -> Iterator[str]:
    workload = measured.workload
    rounds = len({result.round for result in measured.results})
    yield f"## {workload.name}\n\n{workload.told}."
    yield (
        f"\n{rounds} round{'s' * (rounds > 1)} on {measured.date}, commit {measured.commit}: "
        f"{measured.machine}; {measured.cores} cores and {measured.memory} of driver memory for "
        "each contender."
    )
    if measured.remark:
        yield f"\n**{measured.remark}**"
    for group in workload.counted:
        yield f"\n### {group}\n\n{_HEAD}"
        for runs in _entrants(workload, measured.results):
            yield _line(runs, _counted(workload, runs, group))
    if workload.name == scaling.NAME:
        yield from scaling.lines(workload, measured.results)


def _panels(measured: Sequence[Measurement]) -> Iterator[plot.Panel]:
    for each in measured:
        workload = each.workload
        for group in workload.counted:
            bars = [
                _bar(runs, [batch["seconds"] for batch in _counted(workload, runs, group)])
                for runs in _entrants(workload, each.results)
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
