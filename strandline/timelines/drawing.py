"""Draws the timeline of a key as text for a terminal.

A rail runs down the left side while a row stands: `●` where a version begins, `✕` where the row
ends, `∙` for a record that changed nothing. Names and values come from records that nobody vouches
for, so everything they hold is made printable first.
"""

import json
from bisect import bisect_left
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime

from strandline.cells.rendering import plain
from strandline.changes.record import Coordinates
from strandline.changes.version import ClosedBy, TimeQuality
from strandline.timelines.printable import cells, clipped, packed, printable
from strandline.timelines.steps import (
    Cell,
    Closed,
    Explanation,
    Moment,
    Opened,
    Opening,
    Passed,
    Reason,
    Reference,
    Step,
)

MIN_WIDTH = 40
_NAMES = 20  # cells of the longest column name that values are aligned behind
_READ = 4096  # letters of a value that are looked at for showing it
_CONTEXT = 12  # letters of what two long values share, shown before they differ

_OPENED = {
    Opening.CREATE: "created",
    Opening.CREATE_OVER: "created again; what ended the row before is missing",
    Opening.READ: "read by a snapshot",
    Opening.CORRECTION: "corrected by a snapshot read",
    Opening.UPDATE: "updated",
    Opening.UPDATE_UNSEEN: "updated; what was before is missing",
}
_CLOSED = {
    ClosedBy.DELETE: "deleted",
    ClosedBy.TOMBSTONE: "deleted by a lone tombstone",
    ClosedBy.TRUNCATE: "table truncated",
    ClosedBy.SNAPSHOT_ABSENT: "absent from a complete snapshot",
}
_QUALITY = {
    TimeQuality.STATEMENT: "time of the statement, in whole seconds",
    TimeQuality.BEGIN: "time at which the transaction began",
    TimeQuality.CHANGE: "time of the change, not of its commit",
}
_REASONS = {
    Reason.TOMBSTONE: "tombstone after its delete",
    Reason.WAITING: "tombstone after a record in quarantine: it waits for it",
    Reason.CONFIRMED: "read confirmed the row",
    Reason.UNCHANGED: "update that changed nothing",
    Reason.UNSEEN_ROW: "delete of a row that was never seen: no row stood that equals it",
    Reason.TAKEN_OVER: "update of a row that another row had taken the key from",
    Reason.CONTROL: "control record: it carries no row",
}


@dataclass(frozen=True, slots=True)
class Marks:
    """The signs of a drawing, one cell each but the arrow."""

    rail: str = "│"
    opened: str = "●"
    closed: str = "✕"
    passed: str = "∙"
    now: str = "○"
    arrow: str = "→"
    dot: str = "·"


@dataclass(frozen=True, slots=True)
class Ink:
    """The colours of a drawing, as escape sequences; empty where nobody sees them."""

    strong: str = ""
    faint: str = ""
    opened: str = ""
    closed: str = ""
    off: str = ""


ASCII = Marks("|", "*", "x", "-", "o", "->", "-")
COLOURS = Ink("\x1b[1m", "\x1b[2m", "\x1b[32m", "\x1b[31m", "\x1b[0m")


@dataclass(frozen=True, slots=True)
class Pen:
    """How to draw: the cells of a line, the signs, the colours."""

    width: int = 80
    marks: Marks = field(default_factory=Marks)
    ink: Ink = field(default_factory=Ink)


@dataclass(frozen=True, slots=True)
class _Line:
    """A text in one colour behind one cell of rail or mark; without any where that is ""."""

    text: str
    ink: str = ""
    gutter: str = ""
    gutter_ink: str = ""

    def painted(self, off: str) -> str:
        parts = [(self.gutter, self.gutter_ink), (self.text, self.ink)]
        drawn = [f"{ink}{text}{off}" if ink and text.strip() else text for text, ink in parts]
        return (" ".join(drawn) if self.gutter else drawn[1]).rstrip(" ")


def draw(explanation: Explanation, pen: Pen | None = None) -> Iterator[str]:
    """The lines of a timeline, none wider than the pen's width (of 40 cells or more)."""
    sheet = _Sheet(pen or Pen())
    for lines in (sheet.head(explanation), sheet.timeline(explanation), sheet.foot(explanation)):
        yield from (line.painted(sheet.pen.ink.off) for line in lines)


@dataclass(frozen=True, slots=True)
class _Sheet:
    """Lays steps out in lines."""

    pen: Pen

    # ---------------------------------------------------- head and foot

    def head(self, of: Explanation) -> Iterator[_Line]:
        title = (printable(of.topic), f" {printable(of.key)}")
        yield from (_Line(line, self.pen.ink.strong) for line in packed(title, self.pen.width))
        for sentence in _summary(of):
            yield from self._sentence(sentence)

    def foot(self, of: Explanation) -> Iterator[_Line]:
        if of.nameless:
            yield _Line("")
            what = _counted(of.nameless, "quarantined record")
            yield from self._sentence(
                f"{what} of this topic without a readable key may belong here."
            )

    def _sentence(self, sentence: str) -> Iterator[_Line]:
        return (_Line(line) for line in packed(sentence.split(" "), self.pen.width))

    # ---------------------------------------------------- the rail

    def timeline(self, of: Explanation) -> Iterator[_Line]:
        marks, ink = self.pen.marks, self.pen.ink
        rail, before = " ", None
        for step in of.steps:
            if not (isinstance(step, Passed) and isinstance(before, Passed)):
                yield _Line("", gutter=rail, gutter_ink=ink.opened)
            first, *rest = self._step(step)
            if isinstance(step, Opened):
                rail = marks.rail
                yield _Line(first.text, first.ink, marks.opened, ink.opened)
            elif isinstance(step, Closed):
                rail = " "
                yield _Line(first.text, first.ink, marks.closed, ink.closed)
            else:
                rest.insert(0, first)
            yield from (_Line(line.text, line.ink, rail, ink.opened) for line in rest)
            before = step
        if rail != " ":
            yield _Line("", gutter=rail, gutter_ink=ink.opened)
            yield _Line("now", ink.strong, marks.now, ink.opened)

    def _step(self, step: Step) -> Iterator[_Line]:
        match step:
            case Opened():
                yield from self._opened(step)
            case Closed():
                yield from self._closed(step)
            case Passed():
                yield from self._passed(step)

    def _opened(self, step: Opened) -> Iterator[_Line]:
        yield from self._node(step.when, _opening(step))
        yield from self._parts(_named(step.record))
        yield from self._notes(_time_notes(step.when))
        if not step.partnered:
            yield from self._notes(["what the row was there is not known"])
        if step.version.valid_from == step.version.valid_to:
            yield from self._notes(["stood for no time: to be seen by position only"])
        yield _Line("")
        yield from self._cells(step)
        yield from self._notes(_value_notes(step), indent=2)

    def _closed(self, step: Closed) -> Iterator[_Line]:
        yield from self._node(step.when, _closing(step))
        named = _named(step.record)
        absent = step.how is ClosedBy.SNAPSHOT_ABSENT
        yield from self._parts(["first read of the snapshot", *named] if absent else named)
        yield from self._notes(_time_notes(step.when))
        if not step.partnered:
            yield from self._notes(["the record that opens that key has not arrived"])

    def _passed(self, step: Passed) -> Iterator[_Line]:
        yield from self._text(f"{self.pen.marks.passed} {_reason(step)}", indent=1)
        yield from self._parts(_named(step.record), indent=3)

    def _node(self, when: Moment, title: str) -> Iterator[_Line]:
        return self._text(f"{_time(when.time)}  {title}", self.pen.ink.strong)

    # ---------------------------------------------------- texts

    def _parts(self, parts: Iterable[str], indent: int = 0) -> Iterator[_Line]:
        joint = f" {self.pen.marks.dot} "
        return self._packed(parts, self.pen.ink.faint, indent, joint)

    def _notes(self, notes: Iterable[str], indent: int = 0) -> Iterator[_Line]:
        for note in notes:
            yield from self._text(note, self.pen.ink.faint, indent)

    def _text(self, text: str, ink: str = "", indent: int = 0) -> Iterator[_Line]:
        return self._packed(text.split(" "), ink, indent, " ")

    def _packed(self, words: Iterable[str], ink: str, indent: int, joint: str) -> Iterator[_Line]:
        """What does not fit goes on below, two cells further in."""
        lines = packed(words, self.pen.width - 4 - indent, joint)
        for number, line in enumerate(lines):
            yield _Line(" " * (indent + (2 if number else 0)) + line, ink)

    # ---------------------------------------------------- values

    def _cells(self, step: Opened) -> Iterator[_Line]:
        empty = [printable(c.name) for c in step.cells if step.fresh and c.now is None]
        shown = [c for c in step.cells if not (step.fresh and c.now is None)]
        margin = min(max((cells(printable(c.name)) for c in shown), default=0), _NAMES) + 2
        for cell in shown:
            name = printable(cell.name)
            yield from self._cell(name, cell, margin, fresh=step.fresh)
        if empty:
            yield from self._text(f"NULL: {', '.join(empty)}", indent=2)

    def _cell(self, name: str, cell: Cell, margin: int, *, fresh: bool) -> Iterator[_Line]:
        room = self.pen.width - 4 - margin
        if cells(name) > margin - 2:
            yield from self._text(name, indent=2)
            name = ""
        name += " " * (margin - cells(name))
        arrow = f"{self.pen.marks.arrow} "
        if fresh:
            yield _Line(f"  {name}{_shown(cell.now, room)}")
            return
        both = f"{_spelled(cell.was)} {arrow}{_spelled(cell.now)}"
        if cells(both) <= room:
            yield _Line(f"  {name}{both}")
            return
        skipped = _shared(cell.was, cell.now)
        yield _Line(f"  {name}{_shown(cell.was, room, skipped)}")
        space = " " * (margin - len(arrow))
        yield _Line(f"  {space}{arrow}{_shown(cell.now, room, skipped)}")


# -------------------------------------------------------- words


def _summary(of: Explanation) -> Iterator[str]:
    opened = [step for step in of.steps if isinstance(step, Opened)]
    passed = sum(isinstance(step, Passed) for step in of.steps)
    stands = bool(opened) and opened[-1].version.seq_to is None
    last = f", {'the last one stands' if stands else 'none stands now'}" if opened else ""
    truncates = f" and {_counted(of.truncates, 'truncate')} of the table" if of.truncates else ""
    nothing = f", {passed} changed nothing" if passed else ""
    yield f"{_counted(len(opened), 'version')}{last}."
    yield f"{_counted(of.records, 'record')} of this key{truncates}{nothing}."
    if of.same_row:
        yield f"The row was also {', '.join(map(printable, of.same_row))}."


def _counted(number: int, noun: str) -> str:
    return f"{number} {noun}{'' if number == 1 else 's'}"


def _opening(step: Opened) -> str:
    if step.how is not Opening.KEY_MOVE:
        return _OPENED[step.how]
    return f"moved here from {printable(step.version.moved_from or '')}"


def _closing(step: Closed) -> str:
    if step.how is ClosedBy.KEY_MOVE:
        return f"moved to {printable(step.version.moved_to or '')}"
    return _CLOSED.get(step.how, step.how)


def _named(record: Reference) -> list[str]:
    """Operation, coordinates, position and transaction, as far as they are known."""
    transaction = f"tx {printable(record.tx_id)}" if record.tx_id else ""
    parts = (record.op, _at(record.at), printable(record.position), transaction)
    return [part for part in parts if part]


def _at(at: Coordinates) -> str:
    return f"{printable(at.topic)}[{at.partition}]@{at.offset}"


def _time(time: datetime) -> str:
    shown = time.astimezone(UTC).replace(tzinfo=None).isoformat(" ", "microseconds")
    return f"{shown}Z"


def _time_notes(when: Moment) -> Iterator[str]:
    said = "nothing" if when.source is None else _time(when.source)
    if when.quality is TimeQuality.KAFKA:
        yield f"Kafka's time: the source said {said}"
    elif when.quality is TimeQuality.CLAMPED:
        yield f"raised to the time before it: the source said {said}"
    elif when.quality in _QUALITY:
        yield _QUALITY[when.quality]


def _value_notes(step: Opened) -> Iterator[str]:
    if step.carried:
        yield f"not sent, last value kept: {_columns(step.carried)}"
    if step.version.unavailable:
        yield f"never sent, hence NULL: {_columns(step.version.unavailable)}"


def _columns(names: Sequence[str]) -> str:
    return ", ".join(map(printable, names))


def _reason(step: Passed) -> str:
    other = "" if step.other is None else _at(step.other)
    truncate = step.record.op == "t"
    match step.reason:
        case Reason.REDELIVERY:
            return (
                f"re-delivery of {other}" if other else "re-delivery: what follows it came before"
            )
        case Reason.STALE_READ:
            return f"stale read: {other} is newer" if other else "stale read"
        case Reason.IGNORED_COLUMNS:
            return f"only ignored columns changed: {_columns(step.columns)}"
        case Reason.NOT_LIVE if truncate:
            return "truncate while the key was not live"
        case Reason.NOT_LIVE:
            return (
                f"{'delete' if step.record.op == 'd' else step.record.op} of a key that is not live"
            )
        case Reason.OTHER_TABLE:
            return f"truncate of another table, {printable(step.detail)}"
        case Reason.QUARANTINED:
            return f"quarantined: {printable(step.detail)}"
        case _:
            return _REASONS[step.reason]


# -------------------------------------------------------- values


def _spelled(value: object) -> str:
    """A value so that text cannot be taken for anything else: in quotes; NULL is no text."""
    if value is None:
        return "NULL"
    if isinstance(value, str):
        return printable(json.dumps(value[:_READ], ensure_ascii=False))
    return str(plain(value)).lower() if isinstance(value, bool) else printable(str(plain(value)))


def _shared(was: object, now: object) -> int:
    """How many letters may be left out at the start of two long texts."""
    if not (isinstance(was, str) and isinstance(now, str)):
        return 0
    lengths = range(min(len(was), len(now)) + 1)
    shared = bisect_left(lengths, x=True, key=lambda length: was[:length] != now[:length]) - 1
    return max(shared - _CONTEXT, 0)


def _shown(value: object, room: int, skipped: int = 0) -> str:
    """A value in one line; of a long text a part, and how long it is."""
    text = _spelled(value)
    if cells(text) <= room and not (isinstance(value, str) and len(value) > _READ):
        return text
    if not isinstance(value, str):
        return clipped(text, room)
    length = f" ({len(value):,} letters)"
    part = f"…{_spelled(value[skipped:])[1:]}" if skipped else text
    return clipped(part, max(room - len(length), 1)) + length
