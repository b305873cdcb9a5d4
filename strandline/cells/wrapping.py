"""Nanoseconds since 1970 that have wrapped: 64 bits of them end in the year 2262.

Connectors before Debezium 3.6 count on beyond the last number from the first one, so that the end
of 9999 is sent as a day of 1816 (docs/facts/types.md, "Dates and times"). What was sent is the
moment less some laps of 2^64 nanoseconds. Where the database keeps fewer digits of a second than
nine, one moment alone has so few, and that is the one that was meant.
"""

from strandline.cells.misfit import UnheldError

# Microseconds of 0001-01-01 and of the last one of 9999.
FIRST = -62_135_596_800_000_000
LAST = 253_402_300_799_999_999
_LAP = 1 << 64
_LAPS = [lap * _LAP for lap in range(-3, 15)]  # as many as there are between the years 1 and 9999
_SECOND = 1_000_000_000


def unwrapped(count: int, step: int) -> int:
    """The nanoseconds that were meant; they are multiples of `step`, where that is known.

    Raises `UnheldError` where only that they have wrapped is known.
    """
    if count % (step or 1000) == 0:
        return count
    found = _moments(count, step) if step else []
    if len(found) == 1:
        return found[0]
    # Of nine digits any number may be meant: but for one in 60 million, what is a whole second some
    # laps away has wrapped.
    if step or _moments(count, _SECOND):
        raise UnheldError("more nanoseconds than 64 bits hold")
    return count


def _moments(count: int, step: int) -> list[int]:
    around = (count + laps for laps in _LAPS)
    return [at for at in around if at % step == 0 and FIRST <= at // 1000 <= LAST]
