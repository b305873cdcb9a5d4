"""How values are spelled in JSON: what a cell's text may look like, and documents as text.

Both engines read a cell by its text and judge it with these patterns, so that they cannot disagree
about what a value is. The patterns are written for Python's and Java's regular expressions alike:
explicit digits, possessive repetition where a text may be long (Java would run out of stack).
"""

import re
from decimal import Decimal, InvalidOperation
from typing import Any, Self

INTEGER = "-?[0-9]+"
NUMBER = r"-?[0-9]+(?:\.[0-9]+)?(?:[eE][+-]?[0-9]{1,4})?"
BASE64 = "[A-Za-z0-9+/]*={0,2}"  # and its length is a multiple of four
NOT_FINITE = ("NaN", "Infinity", "-Infinity")
# What `decimal.handling.mode=string` writes for PostgreSQL's special numerics, and Jackson's words.
NO_DECIMAL = (*NOT_FINITE, "NAN", "POSITIVE_INFINITY", "NEGATIVE_INFINITY")

# Months and days may be zero: a date that a database holds and no calendar does.
_YEAR = "(?:[0-9]{4}|-[0-9]{4}|[+-]?[0-9]{5,9})"
_DATE = f"{_YEAR}-(?:0[0-9]|1[0-2])-(?:[0-2][0-9]|3[01])"
_CLOCK = r"(?:[01][0-9]|2[0-3]):[0-5][0-9]:[0-5][0-9](?:\.[0-9]{1,12})?"
_OFFSET = "(?:Z|[+-](?:(?:0[0-9]|1[0-7]):[0-5][0-9](?::[0-5][0-9])?|18:00(?::00)?))"
# What a source calls a time ends with its day: 24:00:00.
CLOCK_OF_24 = r"(?:[01][0-9]|2[0-4]):[0-5][0-9]:[0-5][0-9](?:\.[0-9]{1,12})?"
OFFSET_TIME = CLOCK_OF_24 + _OFFSET
_INFINITY = "[+-]?infinity"
ISO_DATE = f"{_DATE}Z?|{_INFINITY}"
ISO_LOCAL = f"{_DATE}[T ]{_CLOCK}Z?|{_INFINITY}"
ISO_INSTANT = f"{_DATE}[T ]{_CLOCK}{_OFFSET}|{_INFINITY}"

# Before an ISO text: a year that dates and timestamps hold. Others have a sign or more digits.
HELD_YEAR = "(?=[0-9]{4}-)(?!0000)"


class Number(Decimal):
    """A JSON number with a fraction or an exponent: exact, and it remembers how it was spelled.

    One that is beyond all decimals is not a number, and no column's value: decoders read the text.
    Made for `json.loads(…, parse_float=Number)`.
    """

    text: str

    def __new__(cls, text: str) -> Self:
        """The number of that spelling."""
        try:
            number = super().__new__(cls, text)
        except InvalidOperation:
            number = super().__new__(cls, "NaN")
        number.text = text
        return number


def spelled(value: Any) -> str:
    """The text of a parsed cell: a string's content, else JSON as it was written."""
    return value if isinstance(value, str) else compact(value)


def compact(value: Any) -> str:
    """A nested document as JSON text without white space; numbers keep their digits.

    Not recursive: a document may be nested as deeply as a parser lets it.
    """
    if not isinstance(value, dict | list):
        return _scalar(value)
    if isinstance(value, dict) and not any(
        isinstance(each, dict | list) for each in value.values()
    ):
        return "{" + ",".join([f"{quote(n)}:{_scalar(each)}" for n, each in value.items()]) + "}"
    done: list[str] = []
    waiting: list[Any] = [value]
    while waiting:
        item = waiting.pop()
        if isinstance(item, dict):
            waiting.append(_Sign("}"))
            for name in reversed(item):
                waiting += (item[name], _Sign(quote(name) + ":"), _Sign(","))
            done.append("{")
        elif isinstance(item, list):
            waiting.append(_Sign("]"))
            for each in reversed(item):
                waiting += (each, _Sign(","))
            done.append("[")
        elif isinstance(item, _Sign):
            # No comma before the first of a document.
            done.append("" if item == "," and done[-1] in {"{", "["} else item)
        else:
            done.append(_scalar(item))
    return "".join(done)


class _Sign(str):
    """JSON's own punctuation, beside texts that are values."""

    __slots__ = ()


def _scalar(value: Any) -> str:
    if isinstance(value, str):
        return quote(value)
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "true" if value else "false"
    return value.text if isinstance(value, Number) else str(value)


def quote(text: str) -> str:
    """A JSON string as Jackson writes it: control characters in upper-case hex, little else."""
    if text.isprintable() and '"' not in text and "\\" not in text:
        return f'"{text}"'
    return '"' + _ESCAPED.sub(lambda found: _ESCAPES[found[0]], text) + '"'


_ESCAPES = {chr(code): f"\\u{code:04X}" for code in range(32)} | {
    '"': '\\"',
    "\\": "\\\\",
    "\n": "\\n",
    "\r": "\\r",
    "\t": "\\t",
    "\b": "\\b",
    "\f": "\\f",
}
_ESCAPED = re.compile(r'[\x00-\x1f"\\]')
