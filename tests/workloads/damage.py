"""Damage: what may become of a record's bytes, of every kind that a reader has to bear."""

import json
from collections.abc import Callable, Iterator
from dataclasses import replace

from strandline.changes.record import Record
from workloads.choices import Choices

_WRONG = (
    None, True, 0, -1, 10**40, -(10**40), 1e308, "", "\x00", "é" * 9, "x" * 100_000, "-", "NaN",
    "1e99999", "9" * 4000, [], [[]], {}, {"": {}}, {"value": []}, {"set": True}, {"scale": 1},
)  # fmt: skip
_LITERALS = (b"1e999", b"-0", b"NaN", b"Infinity", b"00", b"1" * 5000, b'"\\ud800"', b"\xc3\x28")
_TEXTS = (
    b"",
    b" ",
    b"null",
    b"[]",
    b"7",
    b'"',
    b"\x00",
    b"\xff\xfe{}",
    b"{}",
    b"[" * 5000,
    b"{" * 9,
)


def damaged(choices: Choices, record: Record) -> Record:
    """The record with one thing wrong in its value, or in its key."""
    of_key = record.value is None or (record.key is not None and choices.chance(4))
    bytes_ = (record.key if of_key else record.value) or b"{}"
    broken = choices.pick(_WAYS)(choices, bytes_)
    return replace(record, key=broken) if of_key else replace(record, value=broken)


def _cut_short(choices: Choices, text: bytes) -> bytes:
    return text[: choices.below(len(text) + 1)]


def _flipped(choices: Choices, text: bytes) -> bytes:
    at = choices.below(len(text) + 1)
    return text[:at] + bytes([choices.below(256)]) + text[at + 1 :]


def _other_text(choices: Choices, text: bytes) -> bytes:
    del text
    return choices.pick(_TEXTS)


def _other_value(choices: Choices, text: bytes) -> bytes:
    document = _document(text)
    holder, name = _place(choices, document)
    if holder is None:
        return json.dumps(choices.pick(_WRONG)).encode()
    holder[name] = choices.pick(_WRONG)
    return json.dumps(document).encode()


def _missing(choices: Choices, text: bytes) -> bytes:
    document = _document(text)
    holder, name = _place(choices, document)
    if holder is not None:
        del holder[name]
    return json.dumps(document).encode()


def _odd_literal(choices: Choices, text: bytes) -> bytes:
    """A value that JSON's own writers would not write."""
    document = _document(text)
    holder, name = _place(choices, document)
    if holder is None:
        return choices.pick(_LITERALS)
    holder[name] = "@@"
    return json.dumps(document).encode().replace(b'"@@"', choices.pick(_LITERALS))


def _twice(choices: Choices, text: bytes) -> bytes:
    """One field given twice, with two values."""
    document = _document(text)
    holder, name = _place(choices, document)
    if not isinstance(holder, dict):
        return text
    again = json.dumps(choices.pick(_WRONG))
    holder["@@"] = 0
    return (
        json.dumps(document).encode().replace(b'"@@": 0', f"{json.dumps(name)}: {again}".encode())
    )


_WAYS: tuple[Callable[[Choices, bytes], bytes], ...] = (
    _cut_short, _flipped, _other_text, _other_value, _other_value, _other_value, _missing, _missing,
    _odd_literal, _twice,
)  # fmt: skip


def _document(text: bytes) -> object:
    try:
        return json.loads(text)
    except ValueError:
        return {}  # the workload had broken it already


def _place(choices: Choices, document: object) -> tuple[dict | list | None, str | int]:
    """Some field of the document; the ones near its top are no rarer than those of its depths."""
    places = list(_places(document, 0))
    if not places:
        return None, ""
    depth = choices.pick(sorted({depth for depth, _, _ in places}))
    _, holder, name = choices.pick([place for place in places if place[0] == depth])
    return holder, name


def _places(document: object, depth: int) -> Iterator[tuple[int, dict | list, str | int]]:
    fields = (
        list(document.items()) if isinstance(document, dict)
        else list(enumerate(document)) if isinstance(document, list) else []
    )  # fmt: skip
    for name, value in fields:
        yield depth, document, name
        yield from _places(value, depth + 1)
