"""One Airflow for all tests that need it: its own home, an empty database, this checkout's DAGs.

Airflow reads its environment when it is first imported, so importing this module comes before.
"""

import atexit
import functools
import json
import os
import shutil
import sys
import tempfile
from pathlib import Path

PROJECT = Path(__file__).resolve().parents[2]

if "airflow.configuration" in sys.modules:
    raise RuntimeError("import airflow_stage before Airflow: it decides where Airflow's home is")

HOME = Path(tempfile.mkdtemp(prefix="strandline-airflow-"))
atexit.register(shutil.rmtree, HOME, ignore_errors=True)
os.environ.update(
    {
        "AIRFLOW_HOME": str(HOME),
        "AIRFLOW__CORE__DAGS_FOLDER": str(PROJECT / "dags"),
        "AIRFLOW__CORE__LOAD_EXAMPLES": "False",
        "AIRFLOW__CORE__UNIT_TEST_MODE": "False",
        "AIRFLOW__DATABASE__SQL_ALCHEMY_CONN": f"sqlite:///{HOME}/airflow.db",
        # Tests that start no Spark are no starts of this machine, and leave nothing in .venv.
        "STRANDLINE_SPARK_ARCHIVE": "none",
        "AIRFLOW_CONN_SPARK_DEFAULT": json.dumps({"conn_type": "spark", "host": "local[*]"}),
    }
)


@functools.cache
def initialise_database() -> None:
    """Creates Airflow's tables, once."""
    from airflow.utils.db import initdb  # noqa: PLC0415 - not before the environment is set

    initdb()


def kafka_connection(bootstrap: str, **config: object) -> str:
    """The Airflow connection of a cluster, as the text of its environment variable."""
    return json.dumps(
        {
            "conn_type": "kafka",
            "extra": {"bootstrap.servers": bootstrap, **config},
        }
    )
