"""Compares histories with the truth that was recorded beside a capture.

The truth was written by database triggers, not by Debezium, so it knows nothing of positions or
events: per key it lists every version that the database itself saw. `compare` is pure; it tells,
for each key, the first way in which the history differs.
"""

import json
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

Row = Mapping[str, object]
Document = Mapping[str, object]

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


@dataclass(frozen=True, slots=True)
class Disagreement:
    """One key whose history is not what happened, and the first difference."""

    table: str
    key: str
    reason: str


@dataclass(frozen=True, slots=True)
class Agreement:
    """How many keys were compared, and which of them differ."""

    keys: int
    disagreements: tuple[Disagreement, ...] = ()

    @property
    def agreed(self) -> int:
        """The keys whose history is the truth."""
        return self.keys - len(self.disagreements)

    @property
    def total(self) -> bool:
        """True where something was compared and nothing differs."""
        return self.keys > 0 and not self.disagreements


@dataclass(frozen=True, slots=True)
class _Version:
    """What both sides say of a version. `opened_us` None: the truth does not know the time."""

    row: Row
    opened_us: int | None
    closed_by: str | None
    moved_from: Document | None
    moved_to: Document | None


def compare(history: Iterable[Row], truth: Iterable[Document], clock_us: int = 1) -> Agreement:
    """The agreement of history rows (as `strandline history` prints them) with a recorded truth.

    `clock_us` is the resolution of the connector's commit times in microseconds: the truth's times
    are cut down to it, since a binlog that knows whole seconds cannot say more.
    """
    documents = {_identity(entry["table"], entry["key"]): entry for entry in truth}
    stated = _by_key(history, _key_columns(documents.values()))
    disagreements = (
        _disagreement(identity, stated.get(identity, []), documents.get(identity), clock_us)
        for identity in sorted({*stated, *documents})
    )
    return Agreement(
        keys=len({*stated, *documents}),
        disagreements=tuple(found for found in disagreements if found),
    )


def _identity(table: object, key: object) -> tuple[str, str]:
    return str(table), json.dumps(key, ensure_ascii=False, sort_keys=True)


def _key_columns(truth: Iterable[Document]) -> dict[str, tuple[str, ...]]:
    return {str(entry["table"]): tuple(_document(entry["key"]) or ()) for entry in truth}


def _by_key(
    history: Iterable[Row], columns: Mapping[str, tuple[str, ...]]
) -> dict[tuple[str, str], list[Row]]:
    """The rows of each key in source order; a table unknown to the truth counts as one key."""
    keys: defaultdict[tuple[str, str], list[Row]] = defaultdict(list)
    for row in sorted(history, key=lambda row: str(row["_seq_from"])):
        table = str(row["_table"])
        key = {column: row.get(column) for column in columns.get(table, ())}
        keys[_identity(table, key)].append(row)
    return keys


def _disagreement(
    identity: tuple[str, str], rows: list[Row], entry: Document | None, clock_us: int
) -> Disagreement | None:
    table, key = identity
    reason: str | None
    if entry is None:
        reason = f"has {_versions(len(rows))}, the truth does not know it"
    elif not rows:
        reason = "has no history"
    else:
        reason = _difference([_stated(row) for row in rows], _happened(entry, clock_us))
    return Disagreement(table, key, reason) if reason else None


def _stated(row: Row) -> _Version:
    return _Version(
        row={name: value for name, value in row.items() if not name.startswith("_")},
        opened_us=_microseconds(str(row["_valid_from"])),
        closed_by=_text(row["_closed_by"]),
        moved_from=_document(row["_moved_from"]),
        moved_to=_document(row["_moved_to"]),
    )


def _happened(entry: Document, clock_us: int) -> list[_Version]:
    recorded = entry["versions"]
    assert isinstance(recorded, list)  # noqa: S101 - the captures' own format
    return _coalesced(
        _Version(
            row=version["row"],
            opened_us=_cut(version["commit_ts_us"], clock_us),
            closed_by=version["closed_by"],
            moved_from=version["moved_from"],
            moved_to=version["moved_to"],
        )
        for version in recorded
    )


def _coalesced(versions: Iterable[_Version]) -> list[_Version]:
    """The versions with those joined that an update left equal: no history shows them twice."""
    joined: list[_Version] = []
    for version in versions:
        before = joined[-1] if joined else None
        if before and before.closed_by == "update" and not _column(before.row, version.row):
            joined[-1] = _Version(
                before.row, before.opened_us, version.closed_by, before.moved_from, version.moved_to
            )
        else:
            joined.append(version)
    return joined


def _difference(stated: list[_Version], happened: list[_Version]) -> str | None:
    """The first difference in words, or None."""
    if len(stated) != len(happened):
        return f"has {_versions(len(stated))}, the truth {len(happened)}"
    for number, (ours, theirs) in enumerate(zip(stated, happened, strict=True), 1):
        for what, mine, expected in _differing(ours, theirs):
            return f"version {number}: {what} is {_short(mine)}, the truth {_short(expected)}"
    return None


def _differing(ours: _Version, theirs: _Version) -> Iterator[tuple[str, object, object]]:
    if column := _column(ours.row, theirs.row):
        yield column, ours.row.get(column), theirs.row.get(column)
    if ours.closed_by != theirs.closed_by:
        yield "_closed_by", ours.closed_by, theirs.closed_by
    if ours.moved_from != theirs.moved_from:
        yield "_moved_from", ours.moved_from, theirs.moved_from
    if ours.moved_to != theirs.moved_to:
        yield "_moved_to", ours.moved_to, theirs.moved_to
    if theirs.opened_us is not None and ours.opened_us != theirs.opened_us:
        yield "_valid_from", _instant(ours.opened_us), _instant(theirs.opened_us)


def _column(one: Row, other: Row) -> str | None:
    """The first column whose values differ. A column that a row does not have is NULL."""
    columns = sorted({*one, *other})
    return next((name for name in columns if not _same(one.get(name), other.get(name))), None)


def _same(one: object, other: object) -> bool:
    """Equal as values, where true is not 1; two texts of JSON documents are equal as documents."""
    if one == other:
        return isinstance(one, bool) == isinstance(other, bool)
    if not (isinstance(one, str) and isinstance(other, str)) or one[:1] not in {"{", "["}:
        return False
    try:
        return bool(json.loads(one) == json.loads(other))
    except ValueError:
        return False


def _document(value: object) -> Document | None:
    """A key: the truth holds it as a document, a history row as the text of one."""
    document: Document | None = json.loads(value) if isinstance(value, str) else value  # type: ignore[assignment]
    return document


def _text(value: object) -> str | None:
    return None if value is None else str(value)


def _microseconds(instant: str) -> int:
    return (datetime.fromisoformat(instant) - _EPOCH) // timedelta(microseconds=1)


def _instant(microseconds: int | None) -> str | None:
    if microseconds is None:
        return None
    return (_EPOCH + timedelta(microseconds=microseconds)).isoformat(timespec="microseconds")


def _cut(microseconds: int | None, clock_us: int) -> int | None:
    return None if microseconds is None else microseconds - microseconds % clock_us


def _short(value: object, limit: int = 60) -> str:
    shown = repr(value)
    return shown if len(shown) <= limit else f"{shown[: limit - 1]}…"


def _versions(count: int) -> str:
    return "1 version" if count == 1 else f"{count} versions"
