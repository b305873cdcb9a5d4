"""What the engines ask a connector: position, identity, time, transaction of a `source`."""

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any, ClassVar

from strandline.position import Position
from strandline.version import TimeQuality

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


@dataclass(frozen=True, slots=True)
class Moment:
    """The source's own time and how far it can be trusted; `at` is None where it has none."""

    at: datetime | None
    quality: TimeQuality

    @staticmethod
    def of(source: Mapping[str, Any], quality: TimeQuality) -> "Moment":
        """From `ts_us` (since Debezium 2.6), else `ts_ms`."""
        micros = _integer(source.get("ts_us"))
        if micros is None:
            millis = _integer(source.get("ts_ms"))
            micros = None if millis is None else millis * 1000
        return Moment(instant(micros), quality)


def instant(micros: int | None) -> datetime | None:
    """Microseconds since the epoch as an instant; None where the calendar does not reach."""
    if micros is None:
        return None
    try:
        return _EPOCH + timedelta(microseconds=micros)
    except OverflowError:
        return None


def _integer(value: object) -> int | None:
    if isinstance(value, bool) or not isinstance(value, int | str):
        return None
    try:
        return int(value)
    except ValueError:
        return None


class Connector(ABC):
    """One connector's meaning of `source`; stateless."""

    names: ClassVar[tuple[str, ...]]

    @abstractmethod
    def position(self, source: Mapping[str, Any]) -> Position:
        """The position of a row change or truncate; UndecodableError where there is none."""

    @abstractmethod
    def identity(self, source: Mapping[str, Any]) -> tuple[object, ...]:
        """The fields that, with op, key and content, tell a re-delivery from another change."""

    @abstractmethod
    def time(self, source: Mapping[str, Any], *, snapshot: bool) -> Moment:
        """The source's time of the change."""

    @abstractmethod
    def tx_id(self, source: Mapping[str, Any]) -> str | None:
        """The transaction, for `_tx_id`."""
