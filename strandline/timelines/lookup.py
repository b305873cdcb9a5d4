"""Finds the table and the key that a person means, however they are spelt.

What is not there is a `SpecError` of one line that says what there is, the closest first.
"""

import json
import re
from collections.abc import Collection, Mapping
from decimal import Decimal
from typing import Any

from strandline.cells import spelling
from strandline.cells.spelling import Number
from strandline.cells.values import compact
from strandline.changes.key import shortest
from strandline.changes.record import Coordinates, Record
from strandline.errors import SpecError, UndecodableError
from strandline.formats import connect
from strandline.law.decode.general import Decoded, Decoder
from strandline.sources.nearness import SHOWN, choice, closest, listed, shown

_NUMBER = re.compile(r"-?\d{1,40}(?:\.\d{1,40})?")
_HELD = re.compile(spelling.NUMBER)


def topic(wanted: str, topics: Collection[str]) -> str:
    """The topic of that name, or the only one that ends with it: `orders`, `public.orders`."""
    if wanted in topics:
        return wanted
    ending = [each for each in topics if each.endswith(f".{wanted}")]
    if len(ending) == 1:
        return ending[0]
    if ending:
        raise SpecError(f"{len(ending)} tables end with '{shown(wanted)}': {listed(ending)}")
    if not topics:
        raise SpecError("no record holds a change of a row, so there is no table")
    raise SpecError(
        f"there is no table '{shown(wanted)}'; {choice(closest(wanted, topics), topics)}"
    )


def key(wanted: str, keys: Collection[str], decoder: Decoder) -> str:
    """The canonical key that is meant: as JSON in any spelling, as Kafka has it, or a bare value.

    `keys` are those that there are, canonical (see `changes.key`); `decoder` is the table's.
    """
    as_sent = _as_sent(wanted, decoder)
    if as_sent in keys:
        return as_sent
    given = _given(wanted)
    # To the letter first: as JSON the text 1e5 is a number that is spelt otherwise.
    for meant in (wanted, given):
        found = next((each for each in keys if _same(meant, _cells(each))), None)
        if found is not None:
            return found
    raise SpecError(_no_key(wanted, given, keys))


def like(wanted: str, sample: str) -> str:
    """The canonical key that is meant where the canonical keys of a table look like `sample`.

    As JSON in any spelling, or a bare value. Raises `SpecError` that says what a key is made of.
    """
    cells, given = _cells(sample), _given(wanted)
    if not isinstance(given, dict) and len(cells) == 1:
        # To the letter: as JSON the text 1e5 is a number that is spelt otherwise.
        given = dict.fromkeys(cells, given if isinstance(given, str) else wanted)
    if not isinstance(given, dict) or given.keys() != cells.keys():
        made = ", ".join(map(shown, cells))
        raise SpecError(f"the key is made of {made}; write it as {shown(sample)}")
    meant = {name: _as(given[name], cell) for name, cell in cells.items()}
    unfit = next((name for name, value in meant.items() if value is None), None)
    if unfit is not None:
        raise SpecError(
            f"'{shown(unfit)}' of the key must be {_kind(cells[unfit])}; "
            f"write the key as {shown(sample)}"
        )
    return compact(meant)


def alone(wanted: str) -> str:
    """The canonical key, where no other of its table is left to compare: it has to be JSON.

    What is not is given back as it is, and is the key of nothing.
    """
    given = _given(wanted)
    if not isinstance(given, dict):
        return wanted
    return compact({name: _as(value, value) for name, value in given.items()})


def _as(given: object, cell: object) -> object:
    """A value as a key has it whose values are of the kind of `cell`; None where it is none."""
    text = _spelling(given)
    match cell:
        case bool():
            return text.lower() == "true" if text.lower() in {"true", "false"} else None
        case int() | Decimal():  # of a decimal column some values are whole
            return shortest(Decimal(text)) if _NUMBER.fullmatch(text) else None
        case _:
            return None if given is None or isinstance(given, dict | list) else text


def _kind(cell: object) -> str:
    match cell:
        case bool():
            return "true or false"
        case int() | Decimal():
            return "a number"
        case _:
            return "a text"


def _as_sent(wanted: str, decoder: Decoder) -> str:
    """The canonical form of a key that is spelt as its records spell it; "" where it is none."""
    record = Record(Coordinates("", 0, 0), 0, wanted.encode(errors="replace"), None)
    outcome = decoder.decode(record)
    return outcome.change.key if isinstance(outcome, Decoded) else ""


def _given(wanted: str) -> Any:
    """A JSON value, or the text itself where it is not JSON: a shell eats quotes."""
    try:
        return connect.parse(wanted.encode(errors="replace"), "key").payload
    except UndecodableError:
        return wanted


def _same(given: Any, cells: Mapping[str, object]) -> bool:
    if isinstance(given, dict):
        return given.keys() == cells.keys() and all(
            _comparable(given[name]) == _comparable(cell) for name, cell in cells.items()
        )
    return len(cells) == 1 and _comparable(given) == _comparable(*cells.values())


def _spelling(value: object) -> str:
    match value:
        case str():
            return value
        case Number() if not _HELD.fullmatch(value.text):
            return value.text  # written out it may fill the memory
        case Decimal():
            return format(value, "f")
        case _:
            return json.dumps(value, default=str)


def _comparable(value: object) -> str:
    """The same for all spellings of a number."""
    if isinstance(value, Number) and _HELD.fullmatch(value.text):
        return shortest(value).text
    return _spelling(value)


def _cells(key: str) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(key, parse_float=Number)
    return found


def _no_key(wanted: str, given: Any, keys: Collection[str]) -> str:
    columns = list(json.loads(next(iter(keys))))
    named = isinstance(given, dict)
    if (named and given.keys() != set(columns)) or (not named and len(columns) > 1):
        made = ", ".join(map(shown, columns))
        return f"the key is made of {made}; write it as {listed(closest(wanted, keys)[:1])}"
    close = _nearest(given, keys) or closest(wanted, keys)
    return f"there is no key {shown(wanted)}; {choice(close, keys)}"


def _nearest(given: Any, keys: Collection[str]) -> list[str]:
    """The keys next to a number."""
    number = next(iter(given.values())) if isinstance(given, dict) and len(given) == 1 else given
    numbers = {each: next(iter(json.loads(each).values())) for each in keys}
    if not all(isinstance(each, int) for each in (number, *numbers.values())):
        return []
    return sorted(sorted(keys, key=lambda each: abs(numbers[each] - number))[:SHOWN])
