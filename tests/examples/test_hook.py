"""The walk of docs/airflow.md: what it types does what it says."""

import re
import shutil
import subprocess
import sys
from pathlib import Path

import httpx
import pytest

from strandline.sources import source as source_file

PROJECT = Path(__file__).parents[2]
WALK = (PROJECT / "docs" / "airflow.md").read_text().split("\n## ")[1]
(BLOCK,) = re.findall(r"```sh\n(.*?)```", WALK, re.DOTALL)
COMMANDS = [line.strip() for line in BLOCK.splitlines()]


@pytest.fixture
def hook():
    with subprocess.Popen(
        [sys.executable, "-m", "examples.hook", "0"], cwd=PROJECT, stdout=subprocess.PIPE, text=True
    ) as process:
        yield process
        process.kill()


def test_what_is_posted_is_printed(hook):
    address = hook.stdout.readline().split()[-1]
    body = {"title": "Strandline: shop: behind", "text": "since noon", "alerts": []}
    httpx.post(address, json=body, trust_env=False)
    assert [hook.stdout.readline() for _ in range(2)] == [
        "Strandline: shop: behind\n",
        "since noon\n",
    ]


def test_the_walk_makes_a_source_that_tells_the_hook(tmp_path):
    folder = tmp_path / "dags" / "sources"
    shutil.copytree(PROJECT / "dags" / "sources", folder)
    for command in COMMANDS:
        if "dags/sources" in command:
            subprocess.run(["/bin/sh", "-euc", command], cwd=tmp_path, check=True)
    source = source_file.load(folder / "postgres_inventory.toml", {"STRANDLINE_LAKE": "/lake"})
    assert source.default_tolerance.freshness.total_seconds() == 300
    (notifier,) = source.notifiers
    connection = notifier.arguments["http_conn_id"]
    assert [c for c in COMMANDS if f"connections add {connection} " in c]


def test_the_walk_is_short():
    assert len([line for line in WALK.splitlines()[1:] if line.strip(" `")]) <= 15
