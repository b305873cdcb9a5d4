"""The environment in which the demo and `make up` run Airflow."""

import subprocess
import sys

from examples.stage import PROJECT, Stage

PRAGMAS = ("busy_timeout", "synchronous")
ASKED = f"""\
import asyncio
from airflow import settings

def told(connection):
    for pragma in {PRAGMAS}:
        print(pragma, connection.exec_driver_sql("PRAGMA " + pragma).scalar())

async def told_by_the_other():
    async with settings.async_engine.connect() as connection:
        await connection.run_sync(told)

with settings.engine.connect() as connection:
    told(connection)
asyncio.run(told_by_the_other())
"""


def test_who_uses_the_metadata_database_waits_a_minute_for_others_and_never_for_the_disk(tmp_path):
    asked = subprocess.run(
        [sys.executable, "-c", ASKED],
        env=Stage(tmp_path).environment(tmp_path, {}),
        cwd=PROJECT,
        capture_output=True,
        text=True,
        check=True,
    )

    said = [line for line in asked.stdout.splitlines() if line.startswith(PRAGMAS)]
    assert said == ["busy_timeout 60000", "synchronous 0"] * 2
