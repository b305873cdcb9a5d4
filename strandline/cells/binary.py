"""Bytes from what connectors write of them; `UnfitError` where a text is not written so."""

import base64
import re
from typing import Any

from strandline.cells import spelling
from strandline.cells.misfit import UnfitError

_BASE64 = re.compile(spelling.BASE64)
_HEX = re.compile("(?:[0-9a-fA-F]{2})*")


def is_base64(text: str) -> bool:
    """Whether it may be base64 with the usual letters."""
    return len(text) % 4 == 0 and _BASE64.fullmatch(text) is not None


def of_base64(value: Any) -> bytes:
    """From base64 with the usual letters."""
    if not isinstance(value, str) or not is_base64(value):
        raise UnfitError("not base64")
    return base64.b64decode(value)


def of_base64_url(value: Any) -> bytes:
    """From base64 that has - and _ in place of + and /."""
    if not isinstance(value, str) or "+" in value or "/" in value:
        raise UnfitError("not base64 that is safe in a URL")
    return of_base64(value.replace("-", "+").replace("_", "/"))


def of_any_base64(value: Any) -> bytes:
    """From base64 of the alphabet whose letters it has."""
    of_url = isinstance(value, str) and ("-" in value or "_" in value)
    return of_base64_url(value) if of_url else of_base64(value)


def of_hex(value: Any) -> bytes:
    """From hexadecimal digits."""
    if not isinstance(value, str) or not _HEX.fullmatch(value):
        raise UnfitError("not hexadecimal")
    return bytes.fromhex(value)
