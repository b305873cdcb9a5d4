"""The case language: `cases()` reads every `*.txt` beside this module (the format: README.md)."""

import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from cases.columns import columns
from cases.envelopes import Line, Stream
from cases.sources import DAY

from strandline.cells.rendering import plain
from strandline.changes.record import Record

HERE = Path(__file__).parent
_SETTINGS = {"connector", "version", "columns", "schemas", "cells", "headers", "placeholder",
             "flattened", "key", "source", "table", "replay", "parted"}  # fmt: skip
_COUNTS = {"duplicates", "control", "orphans"}
_SETTING = re.compile(r"([a-z]+): +(.+)")
_WORD = re.compile(r'(?:"(?:\\.|[^"\\])*"|[^\s"])+')
_TIMES = {"_valid_from", "_valid_to", "_source_ts", "_recorded_at"}
_KEYS = {"_moved_from", "_moved_to"}


class CaseError(ValueError):
    """A case file is wrong: file, line number, what to fix."""


@dataclass(frozen=True)
class Case:
    """One case.

    `batches` are its records in order of arrival, cut where the case says so; `again` holds, per
    record, what a crash after the last one would deliver once more. `header` and `rows` are the
    expected history as texts. `quarantined` are (reason, partition, offset). `stops`: words of the
    error that keeps the table from having a history. `replay`: whether deliveries may be repeated.
    `parted`: whether its batches may be parted.
    """

    file: str
    title: str
    connector: str
    settings: Mapping[str, str]
    prefix: str
    key: tuple[str, ...]
    batches: tuple[tuple[Record, ...], ...]
    again: tuple[Record | None, ...]
    header: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    counts: Mapping[str, int]
    quarantined: list[tuple[str, int, int]]
    stops: str | None
    replay: bool
    parted: bool

    @property
    def records(self) -> list[Record]:
        """All records in order of arrival."""
        return [record for batch in self.batches for record in batch]

    @property
    def topics(self) -> list[str]:
        """The topics of the case's tables."""
        tables = {record.at.topic for record in self.records}
        return sorted(topic for topic in tables if topic.count(".") > 1)

    @property
    def spec(self) -> str:
        """The source file of the case, as a user would write it."""
        lines = [f'connector = "{self.connector}"', self.settings.get("source", "")]
        lines += ["[kafka]", f'topic_prefix = "{self.prefix}"']
        for topic in self.topics:
            lines += ["[[table]]", f'topic = "{topic}"', self.settings.get("table", "")]
        return "\n".join(lines) + "\n"

    def shown(self, rows: Iterable[tuple[str, Mapping[str, object]]]) -> list[tuple[str, ...]]:
        """History rows, as (topic, cells) of this case's topics, in the form of `rows`."""
        told = [
            tuple(self._cell(name, topic, cells) for name in self.header) for topic, cells in rows
        ]
        return self._in_order(told)

    def refused(self, found: Iterable[tuple[str, int, int]]) -> list[tuple[str, int, int]]:
        """Quarantined records, given as (reason, partition, offset), in the form of `quarantined`.

        Where the case leaves the reason open, it is `*`.
        """
        free = {tuple(at) for reason, *at in self.quarantined if reason == "*"}
        return sorted(
            ("*" if (partition, offset) in free else reason, partition, offset)
            for reason, partition, offset in found
        )

    @property
    def expected(self) -> list[tuple[str, ...]]:
        """`rows` in the order that `shown` gives them."""
        return self._in_order(self.rows)

    def _in_order(self, rows: Iterable[tuple[str, ...]]) -> list[tuple[str, ...]]:
        """Grouped by key, the order inside a key stays; entities are called by their number."""
        names = ("_table", *self.key)
        places = [place for place, name in enumerate(self.header) if name in names]
        ordered = sorted(rows, key=lambda row: [row[place] for place in places])
        if "_entity_id" not in self.header:
            return ordered
        at = self.header.index("_entity_id")
        seen = list(dict.fromkeys(row[at] for row in ordered))
        return [(*row[:at], str(seen.index(row[at]) + 1), *row[at + 1 :]) for row in ordered]

    def _cell(self, name: str, topic: str, cells: Mapping[str, object]) -> str:
        if name == "_table":
            return topic.rpartition(".")[2]
        if name not in cells:
            return "absent"
        value = plain(cells[name])
        if value is None:
            return "null"
        if name in _TIMES:
            return _clock(str(value))
        if name in _KEYS:
            return _key(json.loads(str(value)))
        return _literal(value)


def _clock(text: str) -> str:
    """`12:00:05` on the day of the cases."""
    short = re.sub(r"\.?0+Z$", "Z", text) if "." in text else text
    return short.removeprefix(f"{DAY:%Y-%m-%d}T").removesuffix("Z") if _today(text) else short


def _today(text: str) -> bool:
    return text.startswith(f"{DAY:%Y-%m-%d}T")


def _key(cells: Mapping[str, object]) -> str:
    texts = [_literal(value) for value in cells.values()]
    return texts[0] if len(texts) == 1 else f"({','.join(texts)})"


def _literal(value: object) -> str:
    if isinstance(value, str):
        unclear = value in {"", "null", "true", "false"} or value != value.strip()
        return json.dumps(value) if unclear else value
    if isinstance(value, list):
        return f"[{', '.join(map(str, value))}]"
    return json.dumps(value)


# reading


@cache
def cases() -> tuple[Case, ...]:
    """Every case of every file, in their order."""
    found = tuple(case for path in sorted(HERE.glob("*.txt")) for case in read(path))
    prefixes = [case.prefix for case in found]
    twice = next((prefix for prefix in prefixes if prefixes.count(prefix) > 1), None)
    if twice is not None:
        raise CaseError(f"two cases are called {twice}: give one of them another title")
    return found


def read(path: Path) -> Iterator[Case]:
    """The cases of one file. Raises `CaseError`."""
    head, *blocks = re.split(r"^== *", path.read_text(encoding="utf-8"), flags=re.MULTILINE)
    shared = dict(_SETTING.fullmatch(line).groups() for line in _lines(head))  # type: ignore[union-attr]
    for block in blocks:
        title = block.partition("\n")[0].strip()
        try:
            yield _case(path.stem, title, block.partition("\n")[2], shared)
        except (CaseError, ValueError, KeyError, IndexError) as error:
            raise CaseError(f"{path.name}: {title}: {error}") from error


def _lines(text: str) -> list[str]:
    """Lines without comments and blanks; an indented line continues the one before it."""
    joined = re.sub(r"\n[ \t]+(?=\S)", " ", re.sub(r"(?m)^ *#.*$", "", text))
    return [line.strip() for line in joined.splitlines() if line.strip()]


def _case(file: str, title: str, body: str, shared: Mapping[str, str]) -> Case:
    story, arrow, outcome = body.partition("\n=>")
    if not arrow:
        raise CaseError("there is no '=>' with the expected history")
    settings = dict(shared)
    lines = _lines(story)
    while lines and (setting := _SETTING.fullmatch(lines[0])) and setting[1] in _SETTINGS:
        name, text = setting.groups()
        more = f"{settings[name]}\n" if name in {"source", "table"} and name in settings else ""
        settings[name] = more + text
        lines.pop(0)
    prefix = f"{file}-{re.sub('[^a-z0-9]+', '-', title.lower()).strip('-')}"[:80].rstrip("-")
    described = columns(settings.get("columns", "id int32 key, name string"))
    stream = Stream(settings["connector"], prefix, settings, described)
    batches = tuple(tuple(batch) for batch in _batches(stream, lines))
    key = tuple(column.name for column in described if column.key)
    return Case(
        file=file,
        title=title,
        connector=settings["connector"],
        settings=settings,
        prefix=prefix,
        key=tuple(settings.get("key", ",".join(key)).replace(",", " ").split()),
        batches=batches,
        again=tuple(_again(stream)),
        replay=not settings.get("replay", "yes").startswith("no"),
        parted=not settings.get("parted", "yes").startswith("no"),
        **_outcome(outcome),
    )


def _batches(stream: Stream, lines: Sequence[str]) -> Iterator[list[Record]]:
    batch: list[Record] = []
    for text in lines:
        word, *rest = text.split()
        if text == "---":
            yield batch
            batch = []
        elif word == "columns:":
            stream.columns = columns(text.removeprefix("columns:"))
        elif word == "skip":
            stream.skip(int(rest[0]), int(rest[1][1:]) if rest[1:] else 0)
        elif word == "again":
            partition = int(rest[1][1:]) if rest[1:] else None
            batch += [stream.again(*old, partition) for old in stream.delivered[-int(rest[0]) :]]
        else:
            batch.append(stream.arrive(line_of(text)))
    yield batch


def _again(stream: Stream) -> Iterator[Record | None]:
    """Every line once more, as after a crash; a notice is not repeated."""
    for line, described in list(stream.delivered):
        yield None if line.op == "notice" else stream.again(line, described)


def line_of(text: str) -> Line:
    """`op key row pN @position name=value …`; of `raw` the rest of the line is the value."""
    words = _WORD.findall(text)
    op, given, options, partition, position = words[0], [], {}, 0, ""
    for word in words[1:]:
        option = re.fullmatch(r"([a-z][\w.]*)=(.*)", word)
        if op == "raw" and given:
            break
        if re.fullmatch(r"p\d+", word):
            partition = int(word[1:])
        elif word.startswith("@"):
            position = word[1:]
        elif option:
            options[option[1]] = option[2]
        else:
            given.append(word)
    if op == "raw":
        given.append(text.partition(f" {given[0]} ")[2].strip())
    key, row = (*given, None, None)[:2]
    return Line(op, key, row, position, partition, options, text)


def _outcome(text: str) -> dict:
    """The table, `nothing`, or what stops it; then counts and quarantined records."""
    first, *rest = [re.sub(r" # .*$", "", line).strip() for line in text.splitlines()]
    rest = [line for line in rest if line and not line.startswith("#")]
    notes = [line for line in rest if _SETTING.fullmatch(line) and "|" not in line]
    values = [_SETTING.fullmatch(line).groups() for line in notes]  # type: ignore[union-attr]
    unknown = [name for name, _ in values if name not in {*_COUNTS, "quarantined", "stops"}]
    if unknown:
        raise CaseError(f"nothing is known of an expectation '{unknown[0]}'")
    header = () if first == "nothing" else _row(first)
    rows = tuple(_row(line) for line in rest if line not in notes)
    if any(len(row) != len(header) for row in rows):
        raise CaseError("a row of the expected history has not as many cells as its header")
    return {
        "header": header,
        "rows": rows,
        "counts": {name: int(value) for name, value in values if name in _COUNTS},
        "quarantined": sorted(_refused(v) for n, v in values if n == "quarantined"),
        "stops": next((value for name, value in values if name == "stops"), None),
    }


def _row(line: str) -> tuple[str, ...]:
    return tuple(cell.strip() for cell in line.strip().strip("|").split("|"))


def _refused(text: str) -> tuple[str, int, int]:
    """`quarantined: REASON pP OFFSET`."""
    reason, partition, offset = text.split()
    return reason, int(partition[1:]), int(offset)


def repeated(case: Case, start: int) -> list[Record]:
    """The case's records, and everything from the record number `start` on once more."""
    records = case.records
    return [*records, *(again for again in case.again[start:] if again is not None)]
