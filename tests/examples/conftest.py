"""Builders that make a history row or a truth entry of one line."""

import json
from collections.abc import Callable
from datetime import UTC, datetime, timedelta

import pytest

START = datetime(2026, 11, 20, 22, 0, tzinfo=UTC)
TABLE = "inventory.public.promotions"


def instant(microseconds: int) -> str:
    moment = START + timedelta(microseconds=microseconds)
    return moment.replace(tzinfo=None).isoformat(timespec="microseconds") + "Z"


def position(number: int) -> str:
    return f"{number:016x}"


@pytest.fixture
def version() -> Callable[..., dict[str, object]]:
    """A history row: open from one position to another (None: still open), as it is printed."""

    def build(
        row: dict[str, object],
        start: int,
        end: int | None = None,
        closed_by: str | None = None,
        *,
        op: str = "c",
        **moves: dict[str, object],
    ) -> dict[str, object]:
        moved = {way: json.dumps(key) for way, key in moves.items()}
        return {
            "_table": TABLE,
            **row,
            "_valid_from": instant(start),
            "_valid_to": None if end is None else instant(end),
            "_is_current": end is None,
            "_seq_from": position(start),
            "_seq_to": None if end is None else position(end),
            "_position": f"lsn {start}",
            "_op": op,
            "_closed_by": closed_by,
            "_moved_from": moved.get("moved_from"),
            "_moved_to": moved.get("moved_to"),
        }

    return build


@pytest.fixture
def happened() -> Callable[..., dict[str, object]]:
    """A version as the truth records it; `at` None: before the connector started."""

    def build(
        row: dict[str, object],
        at: int | None,
        closed_by: str | None = None,
        **moves: dict[str, object],
    ) -> dict[str, object]:
        begun = None if at is None else int(START.timestamp()) * 1_000_000 + at
        return {
            "row": row,
            "closed_by": closed_by,
            "moved_from": moves.get("moved_from"),
            "moved_to": moves.get("moved_to"),
            "commit_ts_us": begun,
        }

    return build


@pytest.fixture
def truth() -> Callable[..., dict[str, object]]:
    """The truth of one key."""

    def build(key: dict[str, object], *versions: dict[str, object]) -> dict[str, object]:
        return {"table": TABLE, "key": key, "versions": list(versions)}

    return build
