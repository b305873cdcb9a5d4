"""What a user of Airflow may do with a source: what he may do with the runs of its DAGs.

The only module of the page that knows Airflow's API server from inside: an app that a plugin mounts
has to authenticate its users itself, and does it with what the server's own views do it with.
"""

from http import HTTPStatus
from typing import Any

from airflow.api_fastapi.app import get_auth_manager
from airflow.api_fastapi.auth.managers.models.resource_details import (
    AccessView,
    DagAccessEntity,
    DagDetails,
)
from airflow.api_fastapi.core_api.security import GetUserDep, requires_access_view
from fastapi import Depends

from strandline_airflow.page.api import Api

AskingUser = GetUserDep
SEES_PLUGINS = Depends(requires_access_view(AccessView.PLUGINS))


def sees(api: Api, source: str) -> bool:
    """Whether the user may see the runs of the DAG that makes the source's histories.

    Airflow refuses before it looks whether there is such a DAG: of a file that is not right there
    need be none, and whoever may read it would see it.
    """
    status, _ = api.runs(f"compact__{source}")
    return status in {HTTPStatus.OK, HTTPStatus.NOT_FOUND}


def may_trigger(user: Any, dag: str) -> bool:
    """Whether to offer a run of the DAG to the user: Airflow decides when it is asked for one."""
    return bool(
        get_auth_manager().is_authorized_dag(
            method="POST", access_entity=DagAccessEntity.RUN, details=DagDetails(id=dag), user=user
        )
    )
