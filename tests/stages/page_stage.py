"""What the page is tested with: Airflow's own server, its users, and histories without Spark."""

import json
import secrets
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from urllib.parse import urljoin

import pyarrow as pa
import pytest
from fastapi.testclient import TestClient
from stages import airflow_stage

from strandline.changes.version import TimeQuality, Version

NOON = datetime(2026, 11, 20, 12, tzinfo=UTC)
ORDERS = "shop.orders"
EVIL = '<script>alert("x")</script>'
HISTORY = pa.schema(
    [
        ("id", pa.int64()),
        ("name", pa.string()),
        *((name, pa.timestamp("us", "UTC")) for name in ("_valid_from", "_valid_to")),
        ("_is_current", pa.bool_()),
        *(
            (name, pa.string())
            for name in (
                "_seq_from", "_seq_to", "_position", "_op", "_closed_by", "_moved_from",
                "_moved_to", "_entity_id", "_tx_id",
            )
        ),
        ("_source_ts", pa.timestamp("us", "UTC")),
        ("_ts_quality", pa.string()),
        ("_unavailable", pa.list_(pa.string())),
        ("_topic", pa.string()),
        ("_partition", pa.int32()),
        ("_offset", pa.int64()),
        ("_recorded_at", pa.timestamp("us", "UTC")),
        ("_key", pa.string()),
    ]
)  # fmt: skip


def version(number, key, name="Ada", ended=None, closed_by=None, moved_from=None, moved_to=None):
    at = NOON + timedelta(seconds=number)
    return Version(
        key=key,
        row={**json.loads(key), "name": name},
        valid_from=at,
        valid_to=None if ended is None else NOON + timedelta(seconds=ended),
        seq_from=f"{number:04x}",
        seq_to=None if ended is None else f"{ended:04x}",
        position=f"lsn {number}",
        op="c",
        closed_by=closed_by,
        moved_from=moved_from,
        moved_to=moved_to,
        entity_id=key,
        tx_id=None,
        source_ts=at,
        ts_quality=TimeQuality.COMMIT,
        topic=ORDERS,
        partition=0,
        offset=number,
        recorded_at=at,
    )


@contextmanager
def airflow():
    """Airflow's API server, with a user of each role."""
    airflow_stage.initialise_database()
    from airflow.api_fastapi.app import create_app, purge_cached_app  # noqa: PLC0415 - has a database

    passwords = airflow_stage.HOME / "simple_auth_manager_passwords.json.generated"
    with pytest.MonkeyPatch.context() as environment:
        environment.setenv("AIRFLOW__CORE__SIMPLE_AUTH_MANAGER_USERS", "ann:admin,vic:viewer")
        environment.setenv("AIRFLOW__API_AUTH__JWT_SECRET", secrets.token_hex(32))
        passwords.write_text(json.dumps({"ann": "a", "vic": "v"}))
        purge_cached_app()
        yield create_app()
    purge_cached_app()


def client(server, *credentials, root="/strandline/"):
    """A client that has logged in, unless it has no credentials."""
    found = TestClient(server, base_url="http://testserver")
    if credentials:
        found.headers["Authorization"] = f"Bearer {token(server, *credentials)}"
    found.base_url = urljoin("http://testserver", root)
    return found


def token(server, *credentials, below=""):
    """What a user's browser keeps once he has logged in."""
    named = dict(zip(("username", "password"), credentials, strict=True))
    found = TestClient(server, base_url="http://testserver")
    return found.post(f"{below}/auth/token", json=named).json()["access_token"]
