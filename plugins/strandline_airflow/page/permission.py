"""What a user of Airflow may do with a source: what he may do with the runs of its DAGs."""

from typing import Any, Literal

from airflow.api_fastapi.app import get_auth_manager
from airflow.api_fastapi.auth.managers.models.resource_details import DagAccessEntity, DagDetails
from airflow.models.dag import DagModel


def permitted(user: Any, dag: str, method: Literal["GET", "POST"]) -> bool:
    """Whether the user may see the DAG's runs (GET), or trigger one (POST)."""
    details = DagDetails(id=dag, team_name=DagModel.get_team_name(dag))
    return bool(
        get_auth_manager().is_authorized_dag(
            method=method, access_entity=DagAccessEntity.RUN, details=details, user=user
        )
    )
