"""The assets of a source, as the Airflow pages and other people's DAGs know them.

Their paths are those of the lake: `strandline://SOURCE/tables/TABLE` changes when the table's
history has, so that is what to schedule on. Landing has an asset for each topic, and one for the
source that wakes its compaction. They are called by their URIs, as Airflow calls an asset that
somebody makes of a URI alone: by another name it would be another one, which no event reaches.
"""

from collections.abc import Mapping
from urllib.parse import quote

from airflow.sdk import Asset, AssetAlias
from airflow.sdk.types import OutletEventAccessorProtocol


def table(source: str, name: str) -> Asset:
    """A published history table."""
    return _asset(source, f"tables/{name}")


def topic(source: str, name: str) -> Asset:
    """The landed records of one topic."""
    return _asset(source, f"landing/{name}")


def landing(source: str) -> Asset:
    """Everything landed of a source."""
    return _asset(source, "landing")


def wake(event: OutletEventAccessorProtocol, source: str, rows: Mapping[str, int]) -> None:
    """Wakes the compaction of a source for what has landed of some topics."""
    event.add(landing(source), extra={"rows": sum(rows.values()), "topics": len(rows)})


def landed_alias(source: str) -> AssetAlias:
    """Under which events of landing are emitted: topics are not known when a DAG is parsed."""
    return AssetAlias(f"{source}/landed")


def published_alias(source: str) -> AssetAlias:
    """Under which `compact__SOURCE` emits events: tables are not known when a DAG is parsed."""
    return AssetAlias(f"{source}/published")


def _asset(source: str, path: str) -> Asset:
    return Asset(f"strandline://{source}/{quote(path)}")
