"""The environment in which the demo and `make up` run Airflow."""

import subprocess
import sys

from examples.captures import CAPTURES
from examples.stage import PROJECT, Stage

ASKED = """\
from airflow import settings
with settings.engine.connect() as connection:
    print("busy_timeout", connection.exec_driver_sql("PRAGMA busy_timeout").scalar())
"""


def test_who_finds_the_metadata_database_locked_waits_a_minute(tmp_path):
    addresses = {capture.source: "127.0.0.1:9" for capture in CAPTURES}
    asked = subprocess.run(
        [sys.executable, "-c", ASKED],
        env=Stage(tmp_path).environment(tmp_path, addresses),
        cwd=PROJECT,
        capture_output=True,
        text=True,
        check=True,
    )

    assert "busy_timeout 60000" in asked.stdout.splitlines()
