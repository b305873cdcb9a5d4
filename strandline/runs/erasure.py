"""Whose rows are to be erased: the `order` of such a manifest, which names no key.

A manifest stays in the log of all runs, so it has digests: enough to find a key by, and no key.
"""

from dataclasses import dataclass
from hashlib import sha256


@dataclass(frozen=True, slots=True)
class Erasure:
    """Keys of one table as digests."""

    digests: tuple[str, ...]


def digest(key: str) -> str:
    """SHA-256 of a canonical key, in hexadecimal."""
    return sha256(key.encode()).hexdigest()
