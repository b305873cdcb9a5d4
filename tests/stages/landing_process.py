"""Lands a source in a process of its own: `python landing_process.py SOURCE.toml`.

Prints the number of its tasks, and by how many bytes they raised the memory of the process at most.
"""

import json
import sys
from datetime import UTC, datetime
from pathlib import Path

from strandline_airflow.landing import land_run

from strandline.sources import source as source_file

NOON = datetime(2026, 11, 20, 12, tzinfo=UTC)


def main() -> None:
    source = source_file.load(Path(sys.argv[1]))
    planned = land_run.plan(source, NOON)
    before = _memory("VmRSS")
    Path("/proc/self/clear_refs").write_text("5")  # the peak is now what there is
    for group in planned.groups:
        land_run.land(source, group, NOON)
    told = {"tasks": len(planned.groups), "grown": _memory("VmHWM") - before}
    sys.stdout.write(json.dumps(told))


def _memory(what: str) -> int:
    status = dict(line.split(":") for line in Path("/proc/self/status").read_text().splitlines())
    return int(status[what].split()[0]) * 1024


if __name__ == "__main__":
    main()
