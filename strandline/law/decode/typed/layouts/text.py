"""Text that parsers of JSON do not agree about, which is for the general decoder."""

import re
from collections.abc import Iterable

_LONG = re.compile(rb"[0-9]{4301}")  # a number that Python refuses: `sys.int_info`
_DIGITS = 4300
_ESCAPED = rb"\u"  # half of a character may be among them


def unclear(values: Iterable[bytes]) -> set[int]:
    """The numbers of values with such text, or with bytes that are not UTF-8."""
    values = list(values)
    if _is_clear(b"\n".join(values)) and max(map(len, values), default=0) <= _DIGITS:
        return set()
    return {
        n
        for n, value in enumerate(values)
        if not _is_clear(value) or (len(value) > _DIGITS and _LONG.search(value))
    }


def _is_clear(value: bytes) -> bool:
    if _ESCAPED in value:
        return False
    if not value.isascii():
        try:
            value.decode()
        except UnicodeDecodeError:
            return False
    return True
