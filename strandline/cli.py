"""The command line: `strandline history`, `strandline explain`, `strandline check`."""

import argparse
import json
import os
import shutil
import sys
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from io import TextIOWrapper
from pathlib import Path
from typing import TextIO

from strandline import __version__, advice, engine
from strandline.cells import rendering
from strandline.changes.change import Quarantined
from strandline.changes.record import Record
from strandline.connectors import CONNECTORS
from strandline.errors import SpecError, StrandlineError
from strandline.formats import capture
from strandline.formats.registry import files
from strandline.formats.registry.schemas import NONE, Schemas
from strandline.runs.receipt import Counts
from strandline.sources import amendment, source
from strandline.sources.source import Source
from strandline.timelines import drawing, explanation
from strandline.timelines.printable import clipped, printable

USAGE = 2
INTERRUPTED = 130  # as shells say of what SIGINT ended
_SCHEMAS = "a folder of the schemas that records name by their ids: 17.avsc and so on"
_DETAIL = 200  # cells of why a record is in quarantine: it may quote the record


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs one command. 0 is success, 2 a usage or spec error, told in one line."""
    try:
        return _run(arguments)
    except StrandlineError as error:
        print(f"strandline: {error}", file=sys.stderr)
        return USAGE
    except BrokenPipeError:
        _abandon(sys.stdout, sys.stderr)  # the reader has gone, e.g. `| head`: nobody is to be told
        return 0
    except KeyboardInterrupt:
        return INTERRUPTED


def _run(arguments: Sequence[str] | None) -> int:
    _encode(errors="backslashreplace")
    try:
        options = _parser().parse_args(arguments)
        return int(options.run(options))
    finally:
        _print("", flush=True)  # while it can still be told that it does not arrive


def _print(text: str, *, flush: bool = False) -> None:
    """Writes to standard output; `SpecError` where that takes no more, on a full disk."""
    try:
        print(text, end="", flush=flush)
    except BrokenPipeError:
        raise
    except OSError as error:
        _abandon(sys.stdout)
        raise SpecError(f"cannot write standard output: {error.strerror}") from error


def _abandon(*streams: TextIO) -> None:
    """Lets what is left go nowhere: at its end the interpreter would try again, and fail aloud."""
    for stream in streams:
        os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())


def _encode(encoding: str | None = None, errors: str | None = None) -> None:
    if isinstance(sys.stdout, TextIOWrapper):
        sys.stdout.reconfigure(encoding=encoding, errors=errors)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="strandline", description="Change data capture into history that can be trusted."
    )
    parser.add_argument("--version", action="version", version=__version__)
    commands = parser.add_subparsers(required=True, metavar="COMMAND")

    history = commands.add_parser(
        "history", help="fold captured change records into histories, one JSON object per row"
    )
    history.add_argument("capture", nargs="+", type=Path, help="JSON lines as `kcat -J` prints")
    history.add_argument("--spec", type=Path, help="a source file (TOML)")
    history.add_argument("--schemas", type=Path, help=_SCHEMAS)
    history.add_argument("--engine", choices=("python", "alone", "spark"), default="python")
    history.add_argument("--batches", type=_positive, default=1, help="fold in that many runs")
    history.add_argument("--quarantine", type=Path, help="where unreadable records are listed")
    history.set_defaults(run=_history)

    explain = commands.add_parser(
        "explain", help="draw one key's timeline: its versions, and the records that made none"
    )
    explain.add_argument("capture", nargs="+", type=Path, help="JSON lines as `kcat -J` prints")
    explain.add_argument("--spec", type=Path, help="a source file (TOML)")
    explain.add_argument("--schemas", type=Path, help=_SCHEMAS)
    explain.add_argument("--table", required=True, help="the topic, or the end of its name")
    explain.add_argument("--key", required=True, help='as JSON, {"id": 5}, or a bare value, 5')
    explain.set_defaults(run=_explain)

    check = commands.add_parser(
        "check", help="validate source files; judge Debezium connector configurations"
    )
    check.add_argument(
        "spec", nargs="+", type=Path, help="a source file (TOML) or a connector's JSON"
    )
    check.add_argument(
        "--source", type=Path, help="the source file that reads what these connectors write"
    )
    check.add_argument(
        "--write",
        action="store_true",
        help="add to [settings] of that file how the connector writes values",
    )
    check.set_defaults(run=_check)
    return parser


def _positive(text: str) -> int:
    if not text.isdecimal() or int(text) < 1:
        raise argparse.ArgumentTypeError(f"must be a whole number, 1 or more, not '{text}'")
    return int(text)


def _history(options: argparse.Namespace) -> int:
    _spare((*options.capture, options.spec), options.quarantine)
    spec, records = _captured(options)
    fold, known = engine.named(options.engine), _schemas(options)
    outcome = fold(records, batches=options.batches, source=spec, schemas=known)
    if options.quarantine:
        _write_quarantine(options.quarantine, outcome.quarantined)
    _encode("utf-8")  # JSON is, whatever the terminal (RFC 8259)
    for topic, cells in outcome.rows:
        _print(f"{rendering.line(topic, cells)}\n")
    print(summary(outcome.counts), file=sys.stderr)
    for refusal in _refusals(outcome.quarantined):
        print(f"strandline: warning: {refusal}", file=sys.stderr)
    for topic, doubt in outcome.doubtful:
        print(f"strandline: warning: {topic}: {doubt}", file=sys.stderr)
    for topic, error in outcome.stopped:
        print(f"strandline: {topic}: {error}", file=sys.stderr)
    return USAGE if outcome.stopped else 0


def _schemas(options: argparse.Namespace) -> Schemas:
    return NONE if options.schemas is None else files.load(options.schemas)


def _captured(options: argparse.Namespace) -> tuple[Source | None, list[Record]]:
    """The source file, if one is given, and the captured records that belong to it."""
    spec = source.load(options.spec, {source.LAKE_VARIABLE: "."}) if options.spec else None
    records = list(capture.read(options.capture))
    if spec is None:
        return None, records
    own = [record for record in records if spec.owns(record.at.topic)]
    if records and not own:
        raise SpecError(
            f"{options.spec}: no record is of this source, whose topics are {spec.topic_prefix}.…; "
            f"the first is of {printable(records[0].at.topic)}"
        )
    topics = {record.at.topic for record in own}
    for topic in spec.routed:
        if topic not in topics:
            print(f"strandline: warning: {options.spec}: {_routed(spec, topic)}", file=sys.stderr)
    return spec, own


def _routed(spec: Source, topic: str) -> str:
    return (
        f"[[table]] {topic}: the topic is none of {spec.topic_prefix}.…; unless a transformation "
        f"gives it that name, write {spec.topic_prefix}.{topic}"
    )


def _refusals(quarantined: Sequence[Quarantined]) -> Iterator[str]:
    """How many records each reason keeps out, and why the first."""
    number = Counter(each.reason for each in quarantined)
    first = {each.reason: each for each in reversed(quarantined)}
    for reason, count in number.most_common():
        at = first[reason].at
        where = f"{at.topic}[{at.partition}] at offset {at.offset}"
        refusal = printable(f"{where}: {clipped(first[reason].detail, _DETAIL)}")
        yield f"{count} record{'s' * (count > 1)} in quarantine, {reason}; the first is {refusal}"


def _spare(inputs: Iterable[Path | None], output: Path | None) -> None:
    """Refuses to write over what is read."""
    if output and output.is_file() and any(each and _same(each, output) for each in inputs):
        raise SpecError(f"quarantine {output} is what is read: name another file")


def _same(one: Path, other: Path) -> bool:
    return one.exists() and one.samefile(other)


def summary(counts: Counts) -> str:
    """Law 6 in one line."""
    return (
        f"{counts.landed} records = {counts.changes} changes + {counts.duplicates} duplicates "
        f"+ {counts.control} control + {counts.quarantined} quarantined; "
        f"{counts.history_rows} history rows, {counts.current_rows} current"
    )


def _write_quarantine(path: Path, quarantined: Sequence[Quarantined]) -> None:
    try:
        with path.open("w", encoding="utf-8") as file:
            for each in quarantined:
                fields = {
                    "topic": each.at.topic,
                    "partition": each.at.partition,
                    "offset": each.at.offset,
                    "reason": each.reason,
                    "detail": each.detail,
                }
                file.write(json.dumps(fields, ensure_ascii=False) + "\n")
    except OSError as error:
        raise SpecError(f"cannot write quarantine {path}: {error.strerror}") from error


def _explain(options: argparse.Namespace) -> int:
    spec, records = _captured(options)
    named = {table.name: table.topic for table in spec.tables} if spec else {}
    evidence = explanation.gather(
        records,
        named.get(options.table, options.table),
        CONNECTORS[spec.connector] if spec else None,
        engine.rules(spec),
        _schemas(options),
    )
    encoding = sys.stdout.encoding or "utf-8"
    for line in drawing.draw(evidence.explain(options.key), _pen(encoding)):
        _print(f"{line}\n")
    return 0


def _pen(encoding: str) -> drawing.Pen:
    """As wide as the terminal, in signs that it has; in colour unless NO_COLOR is set."""
    coloured = sys.stdout.isatty() and not os.environ.get("NO_COLOR")
    return drawing.Pen(
        max(shutil.get_terminal_size().columns, drawing.MIN_WIDTH),
        drawing.Marks() if encoding.lower().startswith("utf") else drawing.ASCII,
        drawing.COLOURS if coloured else drawing.Ink(),
    )


def _check(options: argparse.Namespace) -> int:
    if options.write and options.source is None:
        raise SpecError("check: --write needs --source, the source file to write to")
    if options.source and not any(map(advice.is_configuration, options.spec)):
        raise SpecError("check: --source needs a connector's JSON, to be held against it")
    return max(_check_file(path, options.source, write=options.write) for path in options.spec)


def _check_file(path: Path, beside: Path | None, *, write: bool) -> int:
    try:
        if advice.is_configuration(path):
            return _advise(path, beside, write=write)
        found = source.load(path, {source.LAKE_VARIABLE: "."})
    except StrandlineError as error:
        print(f"strandline: {error}", file=sys.stderr)
        return USAGE
    for topic in found.routed:
        _print(f"{path}: note: {_routed(found, topic)}\n")
    _print(f"{path}: ok: source '{found.name}', connector {found.connector}\n")
    return 0


def _advise(path: Path, beside: Path | None, *, write: bool) -> int:
    configuration = advice.read(path)
    if write and beside:
        for line in amendment.amend(beside, advice.wanted(configuration)):
            _print(f"{beside}: added to [settings]: {line}\n")
    read = beside and source.load(beside, {source.LAKE_VARIABLE: "."})
    found = advice.findings(configuration, read or None)
    for finding in found:
        _print(f"{path}: {finding.line()}\n")
    _print(f"{path}: {advice.summary(configuration, found)}\n")
    return USAGE if any(f.severity is advice.Severity.LOSES for f in found) else 0
