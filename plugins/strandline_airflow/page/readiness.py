"""What a source lacks in this Airflow so that its DAGs hang or fail: told before anybody waits."""

from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from airflow.models.pool import Pool
from airflow.sdk import BaseHook
from airflow.sdk.exceptions import AirflowNotFoundException
from airflow.utils.session import create_session
from airflow.utils.state import DagRunState
from sqlalchemy import select

from strandline.errors import SpecError
from strandline.sources.source import Source
from strandline_airflow import schedules
from strandline_airflow.names import pool_name

_ENDED = frozenset({DagRunState.SUCCESS, DagRunState.FAILED})


def lacking(source: Source, path: Path) -> Iterator[str]:
    """A sentence for each thing that is not there, with the remedy."""
    try:
        schedules.check(source, path)
    except SpecError as error:
        yield f"Airflow refuses its schedule, so its DAGs are not renewed: {error}"
    for kind, connection in _connections(source):
        if not _is_there(connection):
            yield (
                f"this server knows no Airflow connection '{connection}' of type {kind}: add it "
                f"(Admin, Connections), or set AIRFLOW_CONN_{connection.upper()} here, too"
            )
    pool = pool_name(source)
    with create_session() as session:
        known = session.scalar(select(Pool.id).where(Pool.pool == pool))
    if known is None:
        yield (
            f"there is no pool '{pool}', which its writers wait for: the next run that begins "
            "makes it, or type: python -m strandline_airflow.pools"
        )


def failing(runs: Iterable[Mapping[str, Any]]) -> tuple[Mapping[str, Any], ...]:
    """The last run of each DAG that has ended, where it failed; `runs` has the newest first."""
    last: dict[str, Mapping[str, Any]] = {}
    for run in runs:
        if run["state"] in _ENDED:
            last.setdefault(run["dag_id"], run)
    return tuple(run for run in last.values() if run["state"] == DagRunState.FAILED)


def _connections(source: Source) -> Iterator[tuple[str, str]]:
    yield "kafka", source.kafka_connection
    if not source.alone and source.spark_operator is None:
        yield "spark", source.spark_connection
    if source.registry is not None:
        yield "http", source.registry.connection
    if source.catalog is not None:
        yield "generic", source.catalog.connection


def _is_there(connection: str) -> bool:
    try:
        BaseHook.get_connection(connection)
    except AirflowNotFoundException:
        return False
    return True
