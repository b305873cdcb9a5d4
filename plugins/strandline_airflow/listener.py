"""Makes the pool of a source when a run begins that needs it.

Airflow asks in its scheduler, which has the database; tasks have none. A task whose pool is missing
would wait for ever, in silence. The only module with Airflow's models: docs/adr/0016 says why.
"""

import logging
from typing import TYPE_CHECKING, Any

from airflow.listeners import hookimpl

from strandline_airflow.pipelines.names import POOLS

if TYPE_CHECKING:
    from airflow.models.dagrun import DagRun

log = logging.getLogger(__name__)


@hookimpl
def on_dag_run_running(dag_run: "DagRun", msg: str) -> None:  # noqa: ARG001 - Airflow's names
    """Makes the pools that the run's tasks name and that are missing, in the same transaction."""
    # In the one process that asks: the others load this file for nothing.
    from airflow.models.pool import Pool  # noqa: PLC0415
    from airflow.models.taskinstance import TaskInstance  # noqa: PLC0415
    from sqlalchemy import select  # noqa: PLC0415
    from sqlalchemy.exc import IntegrityError  # noqa: PLC0415
    from sqlalchemy.orm import object_session  # noqa: PLC0415

    session = object_session(dag_run)
    if session is None:
        return
    own = TaskInstance.dag_id == dag_run.dag_id, TaskInstance.run_id == dag_run.run_id
    named = set(session.scalars(select(TaskInstance.pool).where(*own).distinct()))
    wanted = {name for name in named if name.startswith(POOLS)}
    there = set(session.scalars(select(Pool.pool).where(Pool.pool.in_(wanted))))
    for name in sorted(wanted - there):
        try:
            with session.begin_nested():
                session.add(Pool(**settings(name)))
        except IntegrityError:
            log.info("Pool %s: another scheduler has just made it", name)
        else:
            log.info("Pool %s is made: %s needs it", name, dag_run.dag_id)


def settings(name: str) -> dict[str, Any]:
    """How the pool of a source is made: one writer at a time, deferred ones included."""
    return {
        "pool": name,
        "slots": 1,
        "description": "One writer for the histories of a source",
        "include_deferred": True,
    }
