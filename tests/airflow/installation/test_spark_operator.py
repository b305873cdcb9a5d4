import hashlib
import json
import os
import socket
import subprocess
import sys
import tomllib
import traceback
import zipfile
from itertools import pairwise
from pathlib import Path

import pytest
from stages import airflow_stage
from strandline_airflow import application
from strandline_airflow.application import pack
from strandline_airflow.submission import operators
from strandline_airflow.submission.operators import StrandlineSparkOperator

from strandline.errors import Terminal, Transient
from strandline.runs import jars, jvm, spark

WRAPPER = Path(operators.__file__).with_name("bin") / "spark-submit"


@pytest.fixture
def operator(source):
    return StrandlineSparkOperator(task_id="compact", source=source, app="compact.py")


def test_it_submits_the_application_of_this_checkout(operator):
    assert operator.application == str(airflow_stage.PROJECT / "spark_apps" / "compact.py")
    assert Path(operator.application).is_file()


def test_the_source_overrides_the_defaults_of_spark(source_path):
    from strandline.sources import source as source_file  # noqa: PLC0415

    text = source_path.read_text()
    source_path.write_text(f'{text}[spark.conf]\n"spark.driver.memory" = "7g"\n')
    source = source_file.load(source_path)
    conf = StrandlineSparkOperator(task_id="c", source=source, app="compact.py").conf
    assert conf["spark.driver.memory"] == "7g"
    assert conf["spark.sql.session.timeZone"] == "UTC"


def test_packages_of_the_source_come_beside_delta(source_path):
    from strandline.sources import source as source_file  # noqa: PLC0415

    text = source_path.read_text()
    hadoop = "org.apache.hadoop:hadoop-aws:3.5.0"
    source_path.write_text(f'{text}[spark.conf]\n"spark.jars.packages" = "{hadoop}"\n')
    source = source_file.load(source_path)
    operator = StrandlineSparkOperator(task_id="c", source=source, app="compact.py")
    assert operator.packages == f"{spark.DELTA_PACKAGE},{hadoop}"


def test_installed_by_pip_it_submits_the_application_beside_the_packages(
    source, monkeypatch, tmp_path
):
    site = installed(tmp_path)
    monkeypatch.delenv("STRANDLINE_HOME", raising=False)
    monkeypatch.setattr(
        application, "__file__", str(site / "strandline_airflow" / "application.py")
    )
    operator = StrandlineSparkOperator(task_id="compact", source=source, app="compact.py")
    assert operator.application == str(site / "strandline_apps" / "compact.py")
    names = zipfile.ZipFile(pack(tmp_path / "code.zip")).namelist()
    assert names == ["strandline/runs/cut.py", "strandline_spark/fold.py"]


def test_a_wheel_of_the_project_has_the_application_where_it_is_looked_for():
    project = tomllib.loads((airflow_stage.PROJECT / "pyproject.toml").read_text())
    tools = project["tool"]["setuptools"]
    assert "strandline_apps" in tools["packages"]
    assert tools["package-dir"]["strandline_apps"] == "spark_apps"


def installed(folder):
    """A site-packages as pip makes it, far from any checkout."""
    site = folder / "lib" / "python3.11" / "site-packages"
    files = ("strandline/runs/cut.py", "strandline_spark/fold.py", "strandline_apps/compact.py")
    for name in (*files, "strandline_airflow/application.py"):
        (site / name).parent.mkdir(parents=True)
        (site / name).touch()
    return site


def test_a_worker_without_java_is_told_what_to_install(operator, monkeypatch, tmp_path):
    monkeypatch.delenv("JAVA_HOME", raising=False)
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(Terminal, match=r"install Java 17 or 21.*or set JAVA_HOME"):
        operator.execute({})


def test_a_java_home_without_java_is_named(operator, monkeypatch, tmp_path):
    monkeypatch.setenv("JAVA_HOME", str(tmp_path))
    with pytest.raises(Terminal, match=f"JAVA_HOME is {tmp_path}, but"):
        operator.execute({})


@pytest.mark.parametrize("connection", [None, "spark://local[*]", '{"conn_type": "spark"}'])
def test_a_spark_connection_without_a_master_is_not_taken_for_yarn(
    operator, monkeypatch, connection
):
    monkeypatch.delenv("AIRFLOW_CONN_SPARK_DEFAULT")
    if connection is not None:
        monkeypatch.setenv("AIRFLOW_CONN_SPARK_DEFAULT", connection)
    with pytest.raises(Terminal, match=r"'spark_default'.*airflow connections add spark_default"):
        operator.execute({})


@pytest.mark.usefixtures("airflow_database")
def test_spark_submit_is_told_master_code_and_manifest_and_where_to_listen(operator, tmp_path):
    told = submit(operator, tmp_path, 'printf "%s\\n" "$@"; exit 0').splitlines()
    options = dict(pairwise(told))
    assert options["--master"] == "local[*]"
    assert options["--manifest"] == "/lake/manifest.json"
    assert options["--py-files"].endswith(".zip")
    assert {"spark.driver.bindAddress=127.0.0.1", "spark.driver.host=127.0.0.1"} <= set(told)


@pytest.fixture
def delta(monkeypatch, tmp_path):
    """A folder with all of Delta's jars, which the worker is told of."""
    folder = tmp_path / "delta"
    folder.mkdir()
    for name in jars.NAMES:
        with zipfile.ZipFile(folder / name, "w") as made:
            made.writestr("META-INF/MANIFEST.MF", "")
    monkeypatch.setenv("STRANDLINE_SPARK_JARS", str(folder))
    return folder


@pytest.mark.usefixtures("airflow_database")
def test_a_local_spark_resolves_no_package_and_has_the_jars_on_its_class_path(
    operator, monkeypatch, tmp_path, delta
):
    _without_settings(monkeypatch)
    monkeypatch.setattr(operators, "_own_spark", lambda: {"PYSPARK_PYTHON": sys.executable})
    told = submit(operator, tmp_path, 'printf "%s\n" "$@"; exit 0').splitlines()
    path = ":".join(str(delta / name) for name in jars.NAMES)
    assert f"spark.driver.extraClassPath={path}" in told
    assert "--packages" not in told


@pytest.mark.usefixtures("airflow_database")
def test_a_spark_elsewhere_is_sent_the_jars_and_resolves_those_of_the_source_only(
    source_path, monkeypatch, tmp_path, listening, delta
):
    from strandline.sources import source as source_file  # noqa: PLC0415

    text = source_path.read_text()
    source_path.write_text(f'{text}[spark.conf]\n"spark.jars.packages" = "a:b:1"\n')
    source = source_file.load(source_path)
    operator = StrandlineSparkOperator(task_id="c", source=source, app="compact.py")
    connect(monkeypatch, host=f"spark://127.0.0.1:{listening}")
    told = submit(operator, tmp_path, 'printf "%s\n" "$@"; exit 0').splitlines()
    assert f"spark.jars={','.join(str(delta / name) for name in jars.NAMES)}" in told
    assert dict(pairwise(told))["--packages"] == "a:b:1"


@pytest.mark.usefixtures("airflow_database", "delta")
def test_a_cluster_that_runs_the_driver_resolves_delta_itself(operator, monkeypatch, tmp_path):
    connect(monkeypatch, host="yarn", extra={"deploy-mode": "cluster"})
    monkeypatch.setenv("HADOOP_CONF_DIR", str(tmp_path))
    told = submit(operator, tmp_path, 'printf "%s\n" "$@"; exit 0').splitlines()
    assert dict(pairwise(told))["--packages"] == spark.DELTA_PACKAGE


@pytest.mark.usefixtures("airflow_database")
def test_spark_resolves_delta_at_each_start_where_that_is_asked_for(
    operator, monkeypatch, tmp_path
):
    monkeypatch.setenv("STRANDLINE_SPARK_JARS", "packages")
    told = submit(operator, tmp_path, 'printf "%s\n" "$@"; exit 0').splitlines()
    assert dict(pairwise(told))["--packages"] == spark.DELTA_PACKAGE


def test_a_jar_that_is_missing_stops_the_task_before_anything_is_submitted(
    operator, delta, monkeypatch
):
    _without_settings(monkeypatch)
    (delta / jars.NAMES[0]).unlink()
    with pytest.raises(Terminal, match=rf"is {delta}, but {jars.NAMES[0]} is not there"):
        operator.execute({})


@pytest.mark.usefixtures("airflow_database", "delta")
def test_the_second_local_run_of_a_worker_leaves_an_archive_that_the_third_maps(
    source, monkeypatch, tmp_path
):
    _without_settings(monkeypatch)
    archives = tmp_path / "archives"
    monkeypatch.setenv("STRANDLINE_SPARK_ARCHIVE", str(archives))
    monkeypatch.setattr(operators, "_own_spark", lambda: {"PYSPARK_PYTHON": sys.executable})

    def run():
        operator = StrandlineSparkOperator(task_id="compact", source=source, app="compact.py")
        return submit(operator, tmp_path, 'printf "%s\n" "$@"\n' + AS_JAVA)

    first, second, third = run(), run(), run()
    assert "spark-classes-" not in first
    assert "-XX:ArchiveClassesAtExit=" in second
    (archive,) = archives.glob("*.jsa")
    assert f"-XX:SharedArchiveFile={archive} " in third


# Writes the archive that an option asks for.
AS_JAVA = """
for word in "$@"; do
    case $word in
        *ArchiveClassesAtExit=*) file=${word##*AtExit=}; : >"${file%% *}" ;;
    esac
done
"""


@pytest.mark.usefixtures("airflow_database")
def test_a_local_driver_has_the_java_options_of_a_session_of_this_machine(
    operator, monkeypatch, tmp_path
):
    _without_settings(monkeypatch)
    monkeypatch.setattr(operators, "_own_spark", lambda: {"PYSPARK_PYTHON": sys.executable})
    told = submit(operator, tmp_path, 'printf "%s\\n" "$@"; exit 0').splitlines()
    assert f"spark.driver.extraJavaOptions={jvm.OPTIONS}" in told


@pytest.mark.usefixtures("airflow_database")
@pytest.mark.parametrize("variable", ["SPARK_CONF_DIR", "SPARK_SUBMIT_OPTS"])
def test_java_options_that_somebody_has_for_spark_stay(operator, monkeypatch, tmp_path, variable):
    _without_settings(monkeypatch)
    monkeypatch.setenv(variable, "theirs")
    monkeypatch.setattr(operators, "_own_spark", lambda: {"PYSPARK_PYTHON": sys.executable})
    told = submit(operator, tmp_path, 'printf "%s\\n" "$@"; exit 0')
    assert "extraJavaOptions" not in told


def _without_settings(monkeypatch):
    for variable in ("SPARK_CONF_DIR", "SPARK_SUBMIT_OPTS", "SPARK_HOME", "HADOOP_CONF_DIR"):
        monkeypatch.delenv(variable, raising=False)


@pytest.mark.usefixtures("airflow_database")
def test_spark_that_fails_is_told_in_one_line_with_its_exit_code(operator, tmp_path):
    operator.conf = {"spark.hadoop.fs.s3a.access.key": "AKIA"}
    with pytest.raises(Transient) as failed:
        submit(operator, tmp_path, "exit 3")
    assert str(failed.value) == (
        "spark-submit ended with exit code 3: the driver's log stands above, in this task's log"
    )
    assert "AKIA" not in "".join(traceback.format_exception(failed.value))


@pytest.mark.usefixtures("airflow_database")
@pytest.mark.parametrize("kind", [Terminal, Transient])
def test_what_ended_the_driver_is_what_the_task_fails_with_where_it_says_what_to_do(
    operator, tmp_path, kind
):
    says = f"strandline.errors.{kind.__name__}: see the keys"
    with pytest.raises(kind, match=r"^see the keys$"):
        submit(operator, tmp_path, f"printf 'Traceback\\n{says}\\n' >&2; exit 1")


@pytest.mark.usefixtures("airflow_database", "delta")
@pytest.mark.parametrize(
    ("jars_are", "waited_for"),
    [(None, "its driver tells of each table"), ("packages", f"it fetches {spark.DELTA_PACKAGE}")],
)
def test_the_task_s_log_says_what_is_waited_for_and_what_the_driver_says(
    operator, monkeypatch, tmp_path, capfd, jars_are, waited_for
):
    if jars_are:
        monkeypatch.setenv("STRANDLINE_SPARK_JARS", jars_are)
    says = 'printf ":: loading settings ::\\n\\tfound a jar\\nRun 1 of shop\\n" >&2; exit 0'
    submit(operator, tmp_path, says)
    told = capfd.readouterr().out
    assert f"Spark starts, with master local[*]; {waited_for}" in told
    assert "Run 1 of shop" in told
    assert "found a jar" not in told


@pytest.mark.usefixtures("airflow_database")
def test_a_worker_without_spark_is_told_what_to_install(operator, tmp_path):
    with pytest.raises(Transient, match=r"no spark-submit: install pyspark.*or set STRAND"):
        submit(operator, tmp_path, "exit 127")


@pytest.mark.usefixtures("airflow_database")
def test_of_a_driver_in_the_cluster_the_log_is_said_to_be_there(operator, monkeypatch, tmp_path):
    connect(monkeypatch, host="yarn", extra={"deploy-mode": "cluster"})
    monkeypatch.setenv("STRANDLINE_SPARK_SUBMIT", script(tmp_path, "exit 1"))
    monkeypatch.setenv("HADOOP_CONF_DIR", str(tmp_path))
    with pytest.raises(Transient, match="exit code 1: the driver's log is in the cluster"):
        operator.execute({})


@pytest.fixture
def listening():
    """The port of a server that takes connections."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        yield server.getsockname()[1]


@pytest.fixture
def silent():
    """A port at which nobody listens."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        return server.getsockname()[1]


@pytest.mark.parametrize("split", [False, True])
def test_a_spark_master_that_does_not_answer_is_named_before_anything_is_submitted(
    operator, monkeypatch, silent, split
):
    if split:  # as the connection's form and its URI have it
        connect(monkeypatch, host="spark://127.0.0.1", port=silent)
    else:
        connect(monkeypatch, host=f"spark://127.0.0.1:{silent}")
    with pytest.raises(Transient) as refused:
        operator.execute({})
    assert str(refused.value) == (
        f"Spark master spark://127.0.0.1:{silent} of Airflow connection 'spark_default' does not "
        "answer: Connection refused; start it, or mend the connection"
    )


@pytest.mark.usefixtures("airflow_database")
def test_of_several_spark_masters_one_that_answers_is_enough(
    operator, monkeypatch, tmp_path, silent, listening
):
    master = f"spark://127.0.0.1:{silent},127.0.0.1:{listening}"
    connect(monkeypatch, host=master)
    assert master in submit(operator, tmp_path, 'printf "%s\n" "$@"').splitlines()


def test_a_spark_master_without_a_port_is_refused(operator, monkeypatch):
    connect(monkeypatch, host="spark://master")
    with pytest.raises(Terminal, match=r"'spark://master' is no address.*write spark://HOST:PORT"):
        operator.execute({})


def connect(monkeypatch, **fields):
    text = json.dumps({"conn_type": "spark", **fields})
    monkeypatch.setenv("AIRFLOW_CONN_SPARK_DEFAULT", text)


@pytest.mark.usefixtures("airflow_database")
def test_the_spark_submit_that_the_environment_names_is_taken(operator, monkeypatch, tmp_path):
    monkeypatch.setenv("STRANDLINE_SPARK_SUBMIT", script(tmp_path, f"touch {tmp_path}/taken"))
    operator.execute({})
    assert (tmp_path / "taken").exists()


def submit(operator, folder, text):
    """Runs the operator, with a script in the place of Spark; what the script printed."""
    printed = folder / "printed"
    operator.application_args = ["--manifest", "/lake/manifest.json"]
    operator.env_vars = {
        "STRANDLINE_SPARK_SUBMIT": script(folder, f"exec >{printed}\n{text}"),
    }
    operator.execute({})
    return printed.read_text()


def test_the_archive_holds_the_core_and_the_spark_wing_only(tmp_path):
    names = zipfile.ZipFile(pack(tmp_path / "code.zip")).namelist()
    assert {"strandline/runs/manifest.py", "strandline_spark/__init__.py"} <= set(names)
    assert {name.split("/")[0] for name in names} == {"strandline", "strandline_spark"}


def test_the_archive_is_the_same_to_the_byte_every_time(tmp_path):
    first, second = (
        hashlib.sha256(pack(tmp_path / name).read_bytes()).hexdigest() for name in ("a", "b")
    )
    assert first == second


def test_the_core_is_imported_from_the_archive(tmp_path):
    archive = str(pack(tmp_path / "code.zip"))
    code = "import sys; sys.path[:0] = sys.argv[1:]; import strandline.cli as m; print(m.__file__)"
    told = subprocess.check_output([sys.executable, "-I", "-c", code, archive], text=True)
    assert told.startswith(archive)


def test_the_wrapper_hands_its_arguments_on_as_they_are(tmp_path):
    submit = script(tmp_path, 'printf "%s\\n" "$@"')
    told = subprocess.run(
        [WRAPPER, "--master", "local[*]", "a b", "$HOME"],
        env={**os.environ, "STRANDLINE_SPARK_SUBMIT": submit},
        capture_output=True,
        text=True,
        check=True,
    )
    assert told.stdout.splitlines() == ["--master", "local[*]", "a b", "$HOME"]


PARENT = """
import os, subprocess, sys, time
subprocess.Popen(sys.argv[1:])
os.close(1)
time.sleep(600)
"""


def test_spark_dies_with_the_task_that_started_it(tmp_path):
    """The output ends when nobody can write to it any more, neither the task nor its Spark."""
    submit = script(tmp_path, "echo started; exec sleep 600")
    task = subprocess.Popen(
        [sys.executable, "-c", PARENT, WRAPPER],
        env={**os.environ, "STRANDLINE_SPARK_SUBMIT": submit},
        stdout=subprocess.PIPE,
    )
    with task:
        assert task.stdout.readline() == b"started\n"
        task.kill()
        assert task.stdout.read() == b""


def script(folder, text):
    path = folder / "submit"
    path.write_text(f"#!/bin/sh\n{text}\n")
    path.chmod(0o755)
    return str(path)
