"""Keeps secrets of a configuration out of what is printed.

A secret is told by its setting's name, as Debezium's own masking and Kafka's password types do; the
salt of a hashed column stands in the name of the setting itself.
"""

import re

from strandline.timelines.printable import printable

HIDDEN = "(hidden)"
LONGEST = 80  # characters of a value; a list of five hundred tables helps nobody

_SECRET = re.compile(
    r"(password|passwd|passphrase|secret|token|credentials?(\.json)?|jaas\.config"
    r"|user\.info|api\.key|private\.key|ssl\.key(store\.key)?)$",
    re.IGNORECASE,
)
_SALT = re.compile(r"(\.with\.salt\.).+", re.IGNORECASE)
# user:password@ of an address, wherever it stands in a value
_ADDRESS = re.compile(r"(://)[^/\s@]+@")


def setting(name: str) -> str:
    """The name of a setting without a salt in it."""
    return printable(_SALT.sub(r"\g<1>" + HIDDEN, name))


def value(name: str, text: str) -> str:
    """The value of a setting, in one line, hidden where the name says that it is secret."""
    if _SECRET.search(name):
        return HIDDEN
    line = printable(_ADDRESS.sub(rf"\g<1>{HIDDEN}@", " ".join(text.split())))
    return line if len(line) <= LONGEST else line[: LONGEST - 1] + "…"
