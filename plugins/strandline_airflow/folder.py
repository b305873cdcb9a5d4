"""Where the source files lie."""

import os
from pathlib import Path

from airflow.sdk import conf

from strandline_airflow.application import home

SOURCES_VARIABLE = "STRANDLINE_SOURCES"


def folder_of_sources() -> Path:
    """STRANDLINE_SOURCES, or `sources` in the checkout's `dags`, else in Airflow's DAG folder."""
    given = os.environ.get(SOURCES_VARIABLE)
    if given:
        return Path(given)
    checkout = home()
    dags = Path(conf.get("core", "dags_folder")) if checkout is None else checkout / "dags"
    return dags / "sources"
