"""The benchmark's command line; see the package."""

import argparse
import os
import shutil
import sys
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path

from bench.contenders import CONTENDERS
from bench.pages import measurement, report
from bench.race import Track
from bench.result import Result
from bench.tasks import landing, runs, whole
from bench.workloads import RUNS, Sizes, Workload, workloads

SMALL = Sizes(
    keys=2_000,
    bulk=20_000,
    histories=(10_000, 40_000),
    batch=2_000,
    few=50,
    measured=2,
    tables=5,
    table_keys=100,
    table_batch=50,
    landed=20_000,
    runs=100,
    whole=100_000,
    wide=10,
    times=3,
    hot=20_000,
    transaction=20_000,
    large=10,
    letters=1_000_000,
)
FOLDER = Path(".strandline/bench")
_KNOWN = tuple(dict.fromkeys([*CONTENDERS, *landing.WAYS]))
_LACKING = {name: told for name, kind in CONTENDERS.items() if (told := kind.lacking())}


def main(words: Sequence[str] | None = None) -> int:
    """Races and reports; exit 1 where Strandline gave a wrong history."""
    asked = _parser().parse_args(words)
    sizes = _sizes(asked)
    known = workloads(sizes)
    if asked.fresh:
        shutil.rmtree(FOLDER / "cases", ignore_errors=True)
    track = Track(FOLDER.absolute(), asked.memory, asked.cores)
    track.folder.mkdir(parents=True, exist_ok=True)
    asked.out.mkdir(parents=True, exist_ok=True)
    results: list[Result] = []
    for workload in (known[name] for name in asked.workloads or known):
        print(f"{workload.name}: {workload.told}", flush=True)
        own = []
        for result in _raced(workload, track, asked, sizes):
            print(f"  {_line(workload, result)}", flush=True)
            own.append(result)
        measurement.taken(workload.name, own, sizes, track).write(asked.out)
        report.write(asked.out)
        results += own
    print(f"written to {asked.out}")
    wrong = [one for one in results if one.contender == "strandline" and one.wrong]
    return 1 if wrong else 0


def _raced(
    workload: Workload, track: Track, asked: argparse.Namespace, sizes: Sizes
) -> Iterator[Result]:
    if workload.name == landing.NAME:
        return landing.race(
            track.folder, sizes.landed, asked.broker, asked.contenders, asked.rounds
        )
    if workload.name in RUNS:
        return runs.race(track.folder, workload, asked.rounds)
    if workload.name == "whole":
        return whole.race(track.folder, workload, asked.rounds)
    return track.race(workload, asked.contenders, asked.rounds)


def _line(workload: Workload, result: Result) -> str:
    times = ", ".join(
        f"{name} {' '.join(f'{each:.2f}' for each in report.seconds(workload, result, name))} s"
        for name in workload.counted
    )
    wrong = f"  WRONG: {result.wrong}" if result.wrong else ""
    return f"{result.label:>12} {result.contender:<14} {times}{wrong}"


def _sizes(asked: argparse.Namespace) -> Sizes:
    given = {
        name: value
        for name in Sizes.__dataclass_fields__
        if (value := getattr(asked, name)) is not None
    }
    return replace(SMALL if asked.small else Sizes(), **given)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="bench", description=__doc__, allow_abbrev=False)
    parser.add_argument("workloads", nargs="*", metavar="WORKLOAD")
    parser.add_argument("--small", action="store_true", help="sizes that take a few minutes")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--contenders", type=_names, default=_ready(), metavar="A,B")
    parser.add_argument("--memory", default="4g", help="of each Spark driver")
    parser.add_argument("--cores", type=int, default=os.cpu_count())
    parser.add_argument("--broker", metavar="HOST:PORT", help="for `landing`; none: one of its own")
    parser.add_argument("--fresh", action="store_true", help="make every case anew")
    parser.add_argument("--out", type=Path, default=FOLDER / "results")
    sizes = parser.add_argument_group("sizes")
    for name in Sizes.__dataclass_fields__:
        option = f"--{name.replace('_', '-')}"
        if name == "schemas":
            sizes.add_argument(option, action="store_true", default=None)
        else:
            sizes.add_argument(option, type=_numbers if name == "histories" else int, metavar="N")
    return parser


def _names(text: str) -> list[str]:
    names = text.split(",")
    if unknown := set(names) - set(_KNOWN):
        raise argparse.ArgumentTypeError(f"unknown: {unknown}; known are {', '.join(_KNOWN)}")
    if lacking := [f"{name} is not set up: {_LACKING[name]}" for name in names if name in _LACKING]:
        raise argparse.ArgumentTypeError("; ".join(lacking))
    return names


def _ready() -> list[str]:
    """Who takes part where nobody is named: all who can here."""
    return [name for name in _KNOWN if name not in _LACKING]


def _numbers(text: str) -> tuple[int, ...]:
    return tuple(int(number) for number in text.split(","))


if __name__ == "__main__":
    sys.exit(main())
