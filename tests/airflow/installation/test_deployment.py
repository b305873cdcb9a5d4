"""What can be said of `docker/` without an engine: it is read by the code that runs without it."""

import json
import re
import shutil
import subprocess
import tomllib
from collections import defaultdict
from fnmatch import fnmatch
from graphlib import TopologicalSorter
from pathlib import Path
from urllib.parse import urlsplit

import pyspark
import pytest
import yaml
from airflow.configuration import conf
from cryptography.fernet import Fernet
from packaging.requirements import Requirement
from stages import airflow_stage, s3_stage
from strandline_airflow.submission import operators
from strandline_airflow.submission.operators import StrandlineSparkOperator

from strandline import __version__, cli
from strandline.runs.spark import DELTA_PACKAGE
from strandline.sources import source as source_file

PROJECT = airflow_stage.PROJECT
DOCKER = PROJECT / "docker"
COMPOSE = yaml.safe_load((DOCKER / "compose.yaml").read_text())
SERVICES = COMPOSE["services"]
ONE_SHOTS = {name for name, service in SERVICES.items() if service.get("restart") == "no"}
AIRFLOW = SERVICES["airflow-scheduler"]["environment"]
DOCKERFILES = {name: (DOCKER / name / "Dockerfile").read_text() for name in ("airflow", "spark")}
DEPLOY = (PROJECT / "docs" / "deploy.md").read_text()
SECRET = re.compile(r"PASSWORD|SECRET|_KEY|TOKEN")
NO_SECRET = {"AIRFLOW__CORE__SIMPLE_AUTH_MANAGER_PASSWORDS_FILE"}  # where they are, not what


def environments():
    return [
        (service, name, value)
        for service, body in SERVICES.items()
        for name, value in body.get("environment", {}).items()
    ]


def images():
    started = re.findall(r"^FROM (\S+)", "\n".join(DOCKERFILES.values()), re.MULTILINE)
    return [*started, *(service["image"] for service in SERVICES.values())]


def pinned(text):
    """The versions that a lock says, by package."""
    return dict(re.findall(r"^([a-z0-9-]+)(?:\[\w+\])?==([^ ;\\]+)", text, re.MULTILINE))


LOCKED = pinned((PROJECT / "requirements.txt").read_text())


@pytest.fixture
def source():
    return source_file.load(DOCKER / "sources" / "inventory.toml", {"STRANDLINE_LAKE": "s3a://x"})


def test_every_image_has_a_tag_that_does_not_move():
    assert [name for name in images() if not re.search(r":[a-z-]*\d+\.\d+[^:/]*$", name)] == []


def test_the_images_of_this_project_have_its_version():
    own = {service["image"] for service in SERVICES.values() if "strandline-" in service["image"]}
    assert own == {f"strandline-airflow:{__version__}", f"strandline-spark:{__version__}"}


def test_nothing_runs_as_root():
    users = {name: str(service.get("user", "root")) for name, service in SERVICES.items()}
    assert [name for name, user in users.items() if re.match(r"(root|0)(:|$)", user)] == []
    for text in DOCKERFILES.values():
        assert int(re.findall(r"^USER (\d+)$", text, re.MULTILINE)[-1]) > 0


def test_every_service_that_stays_says_whether_it_is_healthy():
    staying = SERVICES.keys() - ONE_SHOTS
    assert [name for name in staying if "test" not in SERVICES[name].get("healthcheck", {})] == []
    assert all("\nHEALTHCHECK " in text for text in DOCKERFILES.values())


def test_who_waits_for_a_service_waits_for_what_it_can_reach():
    waits = [
        (other, how["condition"])
        for service in SERVICES.values()
        for other, how in service.get("depends_on", {}).items()
    ]
    for other, condition in waits:
        ends = condition == "service_completed_successfully"
        assert ends == (other in ONE_SHOTS), other


def test_compose_knows_of_what_ends_that_it_is_to_end():
    # `up --wait` takes any other container that has ended for a failure (docker/compose#10596).
    staying = SERVICES.keys() - ONE_SHOTS
    assert ONE_SHOTS
    assert {other for name in staying for other in SERVICES[name].get("depends_on", {})} > ONE_SHOTS


def test_no_service_waits_for_itself():
    graph = {name: set(service.get("depends_on", {})) for name, service in SERVICES.items()}
    assert set(TopologicalSorter(graph).static_order()) == SERVICES.keys()


def test_no_port_is_open_to_others():
    ports = [port for service in SERVICES.values() for port in service.get("ports", [])]
    assert ports
    assert all(port.startswith("127.0.0.1:") for port in ports)


def test_every_mounted_file_is_there_and_is_mounted_read_only():
    mounts = [m.split(":") for body in SERVICES.values() for m in body.get("volumes", [])]
    files = [mount for mount in mounts if mount[0].startswith(".")]
    assert files
    assert all((DOCKER / mount[0]).exists() and mount[2] == "ro" for mount in files)
    assert {mount[0] for mount in mounts if mount not in files} == COMPOSE["volumes"].keys()


def test_what_is_copied_into_an_image_is_there_and_gets_into_the_build():
    allowed = [
        line[1:]
        for line in (PROJECT / ".dockerignore").read_text().splitlines()
        if line.startswith("!")
    ]
    for text in DOCKERFILES.values():
        for what in re.findall(r"^COPY (?:--chown=\S+ )?(?!--from)(\S+) ", text, re.MULTILINE):
            found = list(PROJECT.glob(what))
            files = [f for one in found for f in (one.rglob("*.py") if one.is_dir() else [one])]
            names = [file.relative_to(PROJECT).as_posix() for file in files]
            assert names, what
            assert [n for n in names if not any(fnmatch(n, rule) for rule in allowed)] == []


def test_secrets_come_from_the_environment_file_only():
    asked = {
        name: value
        for _, name, value in environments()
        if SECRET.search(name) and name not in NO_SECRET
    }
    assert asked
    assert [name for name, value in asked.items() if not re.match(r"\$\{\w+:\?", value)] == []
    commands = json.dumps([[s.get("command"), s.get("entrypoint")] for s in SERVICES.values()])
    assert not re.search(r"\$\{\w+:\?", commands)


def environment_file():
    lines = (DOCKER / "example.env").read_text().splitlines()
    return dict(line.split("=", 1) for line in lines if line and not line.startswith("#"))


def test_the_example_of_the_environment_file_has_what_is_asked_for_and_no_value():
    given = environment_file()
    asked = re.findall(r"\$\{(\w+):\?", (DOCKER / "compose.yaml").read_text())
    assert given.keys() == set(asked)
    assert set(given.values()) == {""}


def test_the_documented_command_makes_an_environment_file_that_airflow_takes(tmp_path):
    page = (PROJECT / "docs" / "deploy.md").read_text()
    (command,) = [c for c in re.findall(r"```sh\n(.*?)```", page, re.DOTALL) if "docker/.env" in c]
    (tmp_path / "docker").mkdir()
    shutil.copy(DOCKER / "example.env", tmp_path / "docker")
    subprocess.run(["/bin/sh", "-euc", command], cwd=tmp_path, check=True)
    made = tmp_path / "docker" / ".env"
    values = dict(line.split("=", 1) for line in made.read_text().splitlines())
    assert made.stat().st_mode & 0o077 == 0
    assert values.keys() == environment_file().keys()
    assert len(set(values.values())) == len(values)
    assert all(len(value) >= 40 for value in values.values())
    Fernet(values["AIRFLOW_FERNET_KEY"])  # raises where it is no key


def test_the_sample_source_is_what_the_connector_sends(source):
    connector = json.loads((DOCKER / "connect" / "inventory.json").read_text())
    assert source.connector == "postgresql"
    assert source.topic_prefix == connector["topic.prefix"]
    assert source.notifies(connector["notification.sink.topic.name"])
    tables = connector["table.include.list"].split(",")
    sql = (DOCKER / "source" / "init.sql").read_text()
    assert all(f"CREATE TABLE {table.removeprefix('public.')} (" in sql for table in tables)
    assert f"CREATE PUBLICATION {connector['publication.name']} FOR TABLE customers, orders" in sql


def test_the_connector_of_the_sample_loses_and_blurs_nothing(capsys):
    assert cli.main(["check", str(DOCKER / "connect" / "inventory.json")]) == 0
    assert "loses 0, blurs 0" in capsys.readouterr().out


def test_the_connectors_password_is_one_that_connect_has():
    connector = json.loads((DOCKER / "connect" / "inventory.json").read_text())
    name = re.fullmatch(r"\$\{env:(\w+)\}", connector["database.password"])[1]
    worker = SERVICES["connect"]["environment"]
    assert name in worker
    assert re.fullmatch(worker["CONNECT_CONFIG_PROVIDERS_ENV_PARAM_ALLOWLIST_PATTERN"], name)


def test_every_setting_of_airflow_is_one_that_airflow_has():
    named = {name for _, name, _ in environments() if name.startswith("AIRFLOW__")}
    named |= set(re.findall(r"AIRFLOW__\w+", DOCKERFILES["airflow"]))
    for name in named:
        section, option = name.lower().removeprefix("airflow__").split("__")
        assert option in conf.configuration_description[section]["options"], name


def test_all_parts_of_airflow_have_one_environment():
    parts = [body["environment"] for name, body in SERVICES.items() if name.startswith("airflow-")]
    assert all(AIRFLOW.items() <= part.items() for part in parts)


def test_the_connections_of_the_sample_are_there_and_lead_to_the_services(source):
    kafka = json.loads(AIRFLOW[f"AIRFLOW_CONN_{source.kafka_connection.upper()}"])
    bootstrap = kafka["extra"]["bootstrap.servers"]
    assert f"PLAINTEXT://{bootstrap}" in SERVICES["kafka"]["environment"][
        "KAFKA_ADVERTISED_LISTENERS"
    ].split(",")
    assert bootstrap == SERVICES["connect"]["environment"]["BOOTSTRAP_SERVERS"]
    assert urlsplit(AIRFLOW["AWS_ENDPOINT_URL"]).hostname in SERVICES


def test_the_operator_submits_to_the_master_that_the_worker_joins(source, monkeypatch):
    name = f"AIRFLOW_CONN_{source.spark_connection.upper()}"
    monkeypatch.setenv(name, AIRFLOW[name])
    operator = StrandlineSparkOperator(task_id="compact", source=source, app="compact.py")
    master = operators._master(operator._connection())  # noqa: SLF001
    assert master == SERVICES["spark-worker"]["command"][-1]
    address = urlsplit(master)
    master = SERVICES["spark-master"]
    assert address.hostname == master["hostname"]
    assert str(address.port) in master["command"]


def defaults():
    lines = (DOCKER / "spark" / "spark-defaults.conf").read_text().splitlines()
    return dict(line.split(None, 1) for line in lines if line and not line.startswith("#"))


def test_the_defaults_of_spark_set_nothing_that_the_operator_would_override(source):
    operator = StrandlineSparkOperator(task_id="compact", source=source, app="compact.py")
    assert defaults().keys().isdisjoint(operator.conf)


def test_both_halves_reach_the_same_store():
    settings = defaults()
    assert settings["spark.hadoop.fs.s3a.endpoint"] == AIRFLOW["AWS_ENDPOINT_URL"]
    assert settings["spark.hadoop.fs.s3a.endpoint.region"] == AIRFLOW["AWS_REGION"]
    lake = urlsplit(AIRFLOW["STRANDLINE_LAKE"])
    assert lake.scheme == "s3a"
    assert lake.hostname == SERVICES["storage"]["environment"]["S3_BUCKET"]
    worker = SERVICES["spark-worker"]["environment"]
    assert worker.items() <= AIRFLOW.items()
    assert "AWS_SECRET_ACCESS_KEY" in worker


def test_the_store_of_the_tests_is_reached_by_the_same_settings():
    variables = s3_stage.variables("http://storage:8333", "key")
    assert variables.keys() == {name for name in AIRFLOW if name.startswith("AWS_")}
    own = s3_stage.of_spark(variables["AWS_ENDPOINT_URL"])
    assert own.pop("spark.driver.extraClassPath")
    assert own.items() == {each for each in defaults().items() if ".fs.s3a." in each[0]}


def test_both_images_have_the_same_jars_where_spark_looks():
    airflow, spark = (
        re.findall(r"^ARG S3A_PACKAGE=(\S+)$", text, re.MULTILINE) for text in DOCKERFILES.values()
    )
    (hadoop,) = (Path(pyspark.__file__).parent / "jars").glob("hadoop-client-api-*.jar")
    version = hadoop.stem.rpartition("-")[2]
    assert airflow == spark == [f"org.apache.hadoop:hadoop-aws:{version}"]
    assert all("mv /tmp/s3a/jars/* /opt/s3a/" in text for text in DOCKERFILES.values())
    for role in ("driver", "executor"):
        assert defaults()[f"spark.{role}.extraClassPath"] == "/opt/s3a/*"


def test_the_versions_are_those_of_the_lock_and_of_the_setup():
    airflow, spark = DOCKERFILES["airflow"], DOCKERFILES["spark"]
    setup = (PROJECT / "setup.sh").read_text()
    assert f"FROM apache/airflow:slim-{LOCKED['apache-airflow']}-python3.11\n" in airflow
    assert re.search(r"^FROM python:3\.11\.\d+-", spark, re.MULTILINE)
    java = re.findall(r"^FROM eclipse-temurin:((\d+)\S+) ", airflow + spark, re.MULTILINE)
    assert len(set(java)) == 1
    assert java[0][1] in re.search(r"^ +([\d |]+)\) printf", setup, re.MULTILINE)[1].split(" | ")
    assert f"ARG DELTA_PACKAGE={DELTA_PACKAGE}\n" in airflow
    assert f'DELTA_PACKAGE="{DELTA_PACKAGE}"\n' in setup


def test_the_page_of_versions_says_what_the_lock_has():
    rows = re.findall(r"^\| `(.+?)` .*\| ([\d.]+) \|$", DEPLOY, re.MULTILINE)
    told = {name: version for names, version in rows for name in names.split("`, `")}
    assert {"apache-airflow", "pyspark-client", "deltalake", "fastavro"} <= set(told)
    assert told == {name: LOCKED[name] for name in told}


def bounds(lines):
    """By package the versions that a list of requirements begins or ends with."""
    found = defaultdict(set)
    for each in map(Requirement, lines):  # one may be there again, with extras
        found[each.name] |= {(one.operator[0], one.version) for one in each.specifier}
    return found


def test_the_extra_for_an_airflow_that_is_there_has_the_bounds_of_the_project():
    project = tomllib.loads((PROJECT / "pyproject.toml").read_text())["project"]
    extra = project["optional-dependencies"]["airflow"]
    lines = (PROJECT / "requirements.in").read_text().splitlines()
    stated = bounds(text for line in lines if (text := line.partition("#")[0].strip()))
    for name, given in bounds(extra).items():
        exact = {("=", version) for _, version in given}
        assert given == stated[name] or exact == stated[name], name
    wanted = [Requirement(text) for text in extra]
    assert all(each.specifier.contains(LOCKED[each.name]) for each in wanted)
    page = (PROJECT / "docs" / "airflow.md").read_text()
    names = {each.name for each in wanted if not each.name.startswith("apache-airflow")}
    assert {name for name in names if f"`{name}`" not in page} == set()


@pytest.mark.parametrize("image", ["airflow", "spark"])
def test_the_lock_of_an_image_contradicts_the_lock_in_nothing(image):
    own = pinned((DOCKER / image / "requirements.txt").read_text())
    assert own
    assert [name for name in own if LOCKED.get(name, own[name]) != own[name]] == []
