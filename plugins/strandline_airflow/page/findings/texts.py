"""Bytes of records as texts that a page may show."""


def text(value: bytes | None, letters: int) -> str | None:
    """Bytes as text, no longer than that; what is no UTF-8 as escapes."""
    if value is None:
        return None
    found = bytes(value[: letters * 4]).decode(errors="backslashreplace")
    return found if len(found) <= letters else found[:letters] + "…"
