"""Instants and microseconds since 1970, each made of the other exactly."""

from datetime import UTC, datetime, timedelta

_BEGIN = datetime(1970, 1, 1, tzinfo=UTC)
_MICROSECOND = timedelta(microseconds=1)


def micros(instant: datetime) -> int:
    """Microseconds since 1970."""
    return (instant - _BEGIN) // _MICROSECOND


def instant(micros: int) -> datetime:
    """The instant of so many microseconds since 1970; `OverflowError` beyond the calendar."""
    return _BEGIN + timedelta(microseconds=micros)
