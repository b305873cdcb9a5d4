"""The command line of the benchmark of the core; see the package."""

import argparse
import os
import sys
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path

from bench import checkout, machine
from bench.core import memory, subjects
from bench.core.page import Circumstances, Figures, rendered
from bench.core.rows import HOT, NAMES, ROWS
from bench.core.timing import Limits, Timed, timed


def main(words: Sequence[str] | None = None) -> int:
    """Measures, writes the page and prints it."""
    asked = _parser().parse_args(words)
    names = asked.rows or NAMES
    limits = Limits(asked.records, asked.rounds, asked.seconds)
    found: dict[str, Timed] = {}
    for row in ROWS:
        if row.name in names and row.subject is not None:
            print(f"{row.name}: {row.told}", file=sys.stderr, flush=True)
            found[row.name] = timed(row.make, row.subject, row.made, limits)
    hot = None
    if HOT.name in names and subjects.hot_key is not None:
        print(f"{HOT.name}: {asked.hot:,} changes of one key", file=sys.stderr, flush=True)
        hot = memory.beyond(asked.hot)
    page = rendered(Figures(found, hot, asked.hot), _circumstances(asked.rounds), names)
    asked.out.mkdir(parents=True, exist_ok=True)
    (asked.out / "core.md").write_text(page)
    print(page, end="")
    return 0


def _circumstances(rounds: int) -> Circumstances:
    return Circumstances(
        date=datetime.now(UTC).date().isoformat(),
        commit=checkout.commit(),
        machine=machine.described(),
        load=os.getloadavg(),
        rounds=rounds,
    )


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="bench.core", description=__doc__, allow_abbrev=False)
    known = ", ".join(NAMES)
    parser.add_argument(
        "rows", nargs="*", type=_row, metavar="ROW", help=f"of {known}; none: all of them"
    )
    limits = Limits()
    parser.add_argument("--records", type=int, default=limits.records, help="at most, of each row")
    parser.add_argument("--rounds", type=int, default=limits.rounds, help="after a warm-up")
    parser.add_argument("--seconds", type=float, default=limits.seconds, help="about, for each row")
    parser.add_argument("--hot", type=int, default=HOT.changes, help="changes of the one key")
    parser.add_argument("--out", type=Path, default=Path(".strandline/bench/results"))
    return parser


def _row(name: str) -> str:
    if name not in NAMES:
        raise argparse.ArgumentTypeError(f"unknown: {name}; known are {', '.join(NAMES)}")
    return name


if __name__ == "__main__":
    sys.exit(main())
