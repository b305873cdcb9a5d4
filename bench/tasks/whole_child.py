"""A large table's runs in a process of its own: `python -m bench.tasks.whole_child FILE`."""

import json
import os
import sys
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from itertools import count
from pathlib import Path

from bench import process_tree
from bench.tasks import source
from bench.tasks.source import Tasks


def main() -> None:
    job = json.loads(Path(sys.argv[1]).read_text())
    shape = source.shape_of(job)
    home = Path(job["home"])
    tasks = Tasks.of(home, shape, job["broker"], through_spark=True)
    started = time.monotonic() - job["launched"]
    steps = {1: _Measured(home), 2: _Measured(home)}
    for number in count(1):
        with steps[1].taken():
            has_landed = tasks.land(number)
        if not has_landed:
            break
        with steps[2].taken():
            tasks.compact(number)
    batches = [{"lap": 0, "batch": n, "runs": number - 1, **of.told} for n, of in steps.items()]
    Path(job["result"]).write_text(json.dumps({"started": started, "batches": batches}))


@dataclass(slots=True)
class _Measured:
    """What a step of all runs took together."""

    home: Path
    told: Counter[str] = field(default_factory=Counter)

    @contextmanager
    def taken(self) -> Iterator[None]:
        stored, moved = source.size(self.home), process_tree.transferred(os.getpid())
        began = time.monotonic()
        yield
        seconds = time.monotonic() - began
        transfer = asdict(process_tree.transferred(os.getpid()) - moved)
        self.told.update({"seconds": seconds, "grown": source.size(self.home) - stored, **transfer})


if __name__ == "__main__":
    main()
