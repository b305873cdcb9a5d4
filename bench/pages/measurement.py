"""What was measured of one workload: when, on what, of which code; kept as JSON beside the page.

A workload that is raced again replaces its own file only, so that a page can grow over hours that
no machine is quiet for at once.
"""

import json
import os
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from pathlib import Path

from bench import checkout, machine
from bench.race import Track
from bench.result import Result
from bench.workloads import Sizes, Workload, workloads


@dataclass(frozen=True, slots=True)
class Measurement:
    """The results of one workload.

    `load` are the machine's averages over 1, 5 and 15 minutes at the end. `remark` is what a reader
    has to know besides; it is written by hand into the file.
    """

    name: str
    date: str
    commit: str
    machine: str
    memory: str
    cores: int
    load: tuple[float, float, float]
    sizes: Sizes
    results: tuple[Result, ...]
    remark: str = ""

    @property
    def workload(self) -> Workload:
        return workloads(self.sizes)[self.name]

    def write(self, folder: Path) -> None:
        """Replaces what was measured of the workload before."""
        (folder / f"{self.name}.json").write_text(json.dumps(asdict(self), indent=1) + "\n")


def taken(name: str, results: Sequence[Result], sizes: Sizes, track: Track) -> Measurement:
    """What has just been measured."""
    return Measurement(
        name=name,
        date=datetime.now(UTC).date().isoformat(),
        commit=checkout.commit(),
        machine=machine.described(),
        memory=track.memory,
        cores=track.cores,
        load=os.getloadavg(),
        sizes=sizes,
        results=tuple(results),
    )


def read(folder: Path) -> list[Measurement]:
    """All measurements in a folder, in the order of the workloads."""
    files = (folder / f"{name}.json" for name in workloads(Sizes()))
    return [_read(file) for file in files if file.exists()]


def _read(file: Path) -> Measurement:
    told = json.loads(file.read_text())
    sizes = Sizes(**told["sizes"] | {"histories": tuple(told["sizes"]["histories"])})
    results = tuple(Result(**result) for result in told["results"])
    load = tuple(told["load"])
    return Measurement(**told | {"sizes": sizes, "results": results, "load": load})
