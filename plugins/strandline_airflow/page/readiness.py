"""What a source lacks in this Airflow so that its DAGs hang or fail: told before anybody waits."""

from collections.abc import Collection, Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from airflow.sdk import BaseHook
from airflow.sdk.exceptions import AirflowNotFoundException

from strandline.errors import SpecError
from strandline.sources.source import Source
from strandline_airflow.pipelines import schedules
from strandline_airflow.pipelines.names import pool_name

_FAILED = "failed"
_ENDED = frozenset({"success", _FAILED})


def lacking(source: Source, path: Path, pools: Collection[str] | None) -> Iterator[str]:
    """A sentence for each thing that is not there, with the remedy.

    `pools` are those that there are; None: nobody knows, and nothing is said of them.
    """
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
    if pools is not None and pool not in pools:
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
    return tuple(run for run in last.values() if run["state"] == _FAILED)


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
