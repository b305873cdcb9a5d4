"""What more cores would bring, computed from what one and two executors took.

While no task runs the driver is alone, and no executor helps. So a batch takes `idle + busy / n`
seconds on n cores, where all tasks together can be shared evenly: a bound, and no measurement.
"""

from collections.abc import Iterator, Sequence
from statistics import median

from bench.result import Result
from bench.workloads import Workload

NAME = "cores"
_CORES = (1, 2, 4, 8, 16)
_MEASURED = {1: "one-executor", 2: "two-executors"}


def lines(workload: Workload, results: Sequence[Result]) -> Iterator[str]:
    """A table for each group of batches; none where the one executor was not raced."""
    for group in workload.counted:
        took = {
            cores: _medians(workload, results, name, group) for cores, name in _MEASURED.items()
        }
        if took[1] is None:
            continue
        seconds, idle = took[1]
        yield (
            f"\n### {group}: what more cores would bring\n\nOf {seconds:.2f} s on one core no task "
            f"ran for {idle:.2f} s ({idle / seconds:.0%}), in which the driver works alone.\n\n"
            "| cores | computed s | computed speed-up | measured s | measured speed-up |\n"
            "|---:|---:|---:|---:|---:|"
        )
        for cores in _CORES:
            computed = idle + (seconds - idle) / cores
            found = took.get(cores)
            measured = f"{found[0]:.2f} | {seconds / found[0]:.2f}" if found else " | "
            yield f"| {cores} | {computed:.2f} | {seconds / computed:.2f} | {measured} |"


def _medians(
    workload: Workload, results: Sequence[Result], contender: str, group: str
) -> tuple[float, float] | None:
    """Seconds, and those without a task, of the batches that count."""
    counted = set(workload.counted[group])
    own = [
        batch
        for result in results
        if result.contender == contender
        for batch in result.batches
        if (batch["lap"], batch["batch"]) in counted
    ]
    if not own:
        return None
    return median(each["seconds"] for each in own), median(each["idle"] for each in own)
