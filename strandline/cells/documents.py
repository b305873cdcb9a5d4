"""JSON documents in columns: equal by their value, however they are printed.

White space, the order of an object's members, and how numbers and characters are spelt say nothing;
of a member that is there twice the last counts. So a snapshot that prints a row in another way than
the log did confirms it, and a log that prints it anew changes nothing.

MySQL has two printers: its server's, which snapshots show, and that of the connector, which reads
the binary form in the log. They differ in doubles, in the fractions of times and in opaque values
(docs/facts/types.md, "Texts, bits and documents").
"""

import json
import re
from collections.abc import Callable
from decimal import Decimal
from typing import Any

from strandline.cells.spelling import quote
from strandline.cells.types import ANY, Dialect

Print = Callable[[str], str]


def alike(one: str, other: str, dialect: Dialect = ANY) -> bool:
    """Whether two documents of a database have one value."""
    return one == other or comparable(one, dialect) == comparable(other, dialect)


def comparable(text: str, dialect: Dialect = ANY) -> str:
    """A document in the one form that all documents of its value have; what is none stays."""
    number, string = _OF_MYSQL if dialect.two_printers else _EXACT
    try:
        return _printed(_DECODER.decode(text), number, string)
    except (ValueError, ArithmeticError, RecursionError):
        return text


class _Numeral(str):
    """A number as it was spelt."""

    __slots__ = ()


def _refuse(constant: str) -> None:
    raise ValueError(constant)


_DECODER = json.JSONDecoder(parse_float=_Numeral, parse_int=_Numeral, parse_constant=_refuse)


def _printed(value: Any, number: Print, string: Print) -> str:
    match value:
        case _Numeral():
            return number(value)
        case str():
            return quote(string(value))
        case dict():
            members = (f"{quote(n)}:{_printed(value[n], number, string)}" for n in sorted(value))
            return "{" + ",".join(members) + "}"
        case list():
            return "[" + ",".join([_printed(each, number, string) for each in value]) + "]"
        case _:
            return json.dumps(value)


def _exact(numeral: str) -> str:
    """A number by its digits: 1, 1.0 and 10E-1 are one, in any length."""
    try:
        sign, digits, exponent = Decimal(numeral).as_tuple()
    except ArithmeticError:  # beyond every exponent
        return numeral
    shown = "".join(map(str, digits)).lstrip("0")
    if not shown:
        return "0"
    whole = shown.rstrip("0")
    return f"{'-' * sign}{whole}e{int(exponent) + len(shown) - len(whole)}"


_DIGITS = 17  # that tell every double


def _of_mysql(numeral: str) -> str:
    """Doubles are printed in the fewest digits, or in all that they have; the rest is exact."""
    exact, double = Decimal(numeral), float(numeral)
    short = not numeral.lstrip("-").isdigit() and len(exact.as_tuple().digits) <= _DIGITS
    return f"~{_exact(repr(double))}" if short or exact == Decimal(double) else _exact(numeral)


# A time of MySQL's inside a document, and the end of its fraction that says nothing.
_TIME = re.compile(
    r"((?:\d{4}-\d\d-\d\d |-?)\d{2,3}:\d\d:\d\d)(?=\.\d{1,6}$)(?:(\.\d*?[1-9])0*|\.0+)"
)
_OPAQUE = re.compile(r"base64:type\d+:([A-Za-z0-9+/=\n]*)")


def _text_of_mysql(text: str) -> str:
    time = _TIME.fullmatch(text)
    if time is not None:
        return time[1] + (time[2] or "")
    opaque = _OPAQUE.fullmatch(text)
    return text if opaque is None else opaque[1].replace("\n", "")


def _as_it_is(text: str) -> str:
    return text


_EXACT: tuple[Print, Print] = (_exact, _as_it_is)
_OF_MYSQL: tuple[Print, Print] = (_of_mysql, _text_of_mysql)
