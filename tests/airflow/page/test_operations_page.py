"""What the pages have somebody type can be typed, that of three in the morning first."""

import json
import re
import shlex

import pytest
from stages import airflow_stage
from strandline_airflow.dag import source_dags

from strandline.runs.watch import Condition, Kind

DOCS = airflow_stage.PROJECT / "docs"
NIGHT = (DOCS / "operations.md").read_text().split("\n## ")[1]
DEPLOY = "".join(
    page.read_text() for page in (DOCS / "deploy.md", *sorted((DOCS / "deploy").glob("*.md")))
)
TYPED = re.findall(r"`(?:\w+=\w+ )?(airflow [^`]+)`", NIGHT)
DEPLOYED = re.findall(r"(?:^ +|`|do )(airflow \w+ [^`;\n]+)", DEPLOY, re.MULTILINE)
COMMANDS = [shlex.split(typed)[1:] for typed in TYPED]


def test_the_table_names_every_alert():
    titles = {Condition(kind, "", None, "").title for kind in Kind}
    assert [title for title in titles if f"*{title}*" not in NIGHT] == []


@pytest.mark.parametrize("typed", dict.fromkeys((*TYPED, *DEPLOYED)))
def test_every_command_is_one_of_airflows(typed, airflow_database):
    from airflow.cli.cli_parser import get_parser  # noqa: PLC0415 - has a database

    assert airflow_database is None
    assert get_parser().parse_args(shlex.split(typed)[1:])


def test_what_is_triggered_is_a_dag_of_a_source_with_the_fields_that_are_given(source_path):
    dags = {dag.dag_id.removesuffix("__shop"): dag for dag in source_dags(source_path)}
    triggered = [command[2:] for command in COMMANDS if command[:2] == ["dags", "trigger"]]
    assert len(triggered) > 5
    for dag_id, *rest in triggered:
        fields = json.loads(rest[1]) if rest else {}
        assert fields.keys() <= dags[dag_id.removesuffix("__S")].params.keys()


def test_a_source_is_removed_with_all_its_dags(source_path):
    (names,) = re.findall(r"for what in ([\w ]+); do airflow dags delete", DEPLOY)
    dags = {dag.dag_id.removesuffix("__shop") for dag in source_dags(source_path)}
    assert set(names.split()) == dags
