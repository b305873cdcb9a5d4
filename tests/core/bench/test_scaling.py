"""What the benchmark says of more cores, from the event log of Spark."""

import json

from bench.pages import scaling
from bench.pages.events import Busy
from bench.result import Result
from bench.workloads import Sizes, workloads


def ran(start, end):
    info = {"Launch Time": 1000 * start, "Finish Time": 1000 * end}
    return {"Event": "SparkListenerTaskEnd", "Task Info": info}


def test_time_in_which_several_tasks_ran_counts_once(tmp_path):
    log = tmp_path / "log"
    events = [ran(20, 30), {"Event": "SparkListenerJobStart"}, ran(5, 10), ran(8, 12), ran(9, 10)]
    log.write_text("".join(f"{json.dumps(event)}\n" for event in events))
    busy = Busy.of(log)
    assert busy.seconds(0, 100) == 17
    assert busy.seconds(9, 21) == 4
    assert busy.seconds(13, 19) == 0


def test_what_more_cores_would_bring_is_bounded_by_what_the_driver_does_alone():
    batches = [
        {"lap": 1, "batch": 1, "seconds": 40.0, "idle": 8.0},
        {"lap": 1, "batch": 3, "seconds": 10.0, "idle": 5.0},
    ]
    result = Result("cores", "", "one-executor", 0, 5.0, batches, 1, "")
    told = "\n".join(scaling.lines(workloads(Sizes())["cores"], [result]))
    assert "Of 40.00 s on one core no task ran for 8.00 s (20%)" in told
    assert "| 16 | 10.00 | 4.00 |" in told  # the bulk
    assert "| 16 | 5.31 | 1.88 |" in told  # the increment
