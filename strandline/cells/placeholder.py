"""The unavailable-value placeholder in all its spellings.

A connector puts it where the log does not hold a value: TOAST, LOBs, SQL Server's max types. How it
is spelt depends on the column's type (docs/facts/envelopes.md, "The unavailable-value
placeholder").
"""

import base64
import hashlib
import json
import uuid
from functools import cache

_HEX = "hex:"


@cache
def spellings(placeholder: str) -> frozenset[str]:
    """The texts that stand for "not sent" in a cell: strings as they are, nested ones as JSON."""
    data = _bytes(placeholder)
    placeholder = data.decode(errors="replace")
    encoded = base64.b64encode(data).decode()
    of_url = base64.urlsafe_b64encode(data).decode()
    digest = hashlib.md5(data, usedforsecurity=False).digest()
    name = str(uuid.UUID(bytes=digest, version=3))  # Java's nameUUIDFromBytes
    nested = (
        [placeholder],
        [encoded],
        list(data),
        [float(byte) for byte in data],
        {placeholder: placeholder},
        [name],
    )
    return frozenset(
        {placeholder, encoded, of_url, data.hex()}
        | {json.dumps(each, separators=(",", ":"), ensure_ascii=False) for each in nested}
        # hstore as JSON is text that holds the document
        | {json.dumps({placeholder: placeholder}, ensure_ascii=False)}
    )


def _bytes(placeholder: str) -> bytes:
    """A placeholder may be given as `hex:` and its bytes, as to the connector."""
    digits = placeholder.removeprefix(_HEX)
    if digits == placeholder:
        return placeholder.encode()
    try:
        return bytes.fromhex(digits)
    except ValueError:
        return placeholder.encode()
