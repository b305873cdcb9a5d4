"""Registers Strandline with Airflow. What it adds is in the package `strandline_airflow`."""

from typing import Any, ClassVar

from airflow.plugins_manager import AirflowPlugin
from strandline_airflow.deadlines import RunAfter
from strandline_airflow.site import PREFIX, site


class StrandlinePlugin(AirflowPlugin):
    """The page, and where Airflow's navigation shows it."""

    name = "strandline"
    fastapi_apps: ClassVar[list[Any]] = [{"name": "Strandline", "app": site, "url_prefix": PREFIX}]
    external_views: ClassVar[list[Any]] = [
        {
            "name": "Strandline",
            "href": f"{PREFIX.removeprefix('/')}/",  # relative, for an Airflow in a sub-path
            "url_route": "strandline",
            "destination": "nav",
        }
    ]
    deadline_references: ClassVar[list[Any]] = [RunAfter]
