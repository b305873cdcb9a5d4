"""What Airflow loads by the entry point `airflow.plugins`: page, listener, deadlines."""

from airflow.plugins_manager import AirflowPlugin

from strandline_airflow import listener
from strandline_airflow.addresses import PREFIX
from strandline_airflow.monitoring.deadlines import RunAfter
from strandline_airflow.page.site import site

_APPS = [{"name": "Strandline", "app": site, "url_prefix": PREFIX}]
_VIEWS = [
    {
        "name": "Strandline",
        "href": f"{PREFIX.removeprefix('/')}/",  # relative, for an Airflow in a sub-path
        "url_route": "strandline",
        "destination": "nav",
    }
]
_REFERENCES = [RunAfter]
_LISTENERS: list[object] = [listener]


class StrandlinePlugin(AirflowPlugin):
    """The page, where Airflow's navigation shows it, and who makes a source's pool."""

    name = "strandline"
    fastapi_apps = _APPS
    external_views = _VIEWS
    deadline_references = _REFERENCES
    listeners = _LISTENERS
