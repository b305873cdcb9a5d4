"""How the examples start Spark's JVM."""

import shlex

import pytest

from examples import jvm
from examples.stage import Stage


def test_the_settings_of_small_runs_are_options():
    options = shlex.split(jvm.options())

    assert "-Dspark.sql.codegen.wholeStage=false" in options
    assert "-XX:+UseSerialGC" in options
    assert not [option for option in options if not option.startswith("-")]


def test_a_spark_that_the_user_has_configured_does_not_get_in(monkeypatch, tmp_path):
    monkeypatch.setenv("SPARK_CONF_DIR", "/etc/spark")

    environment = Stage(tmp_path).environment(tmp_path, {})

    assert "SPARK_CONF_DIR" not in environment
    assert environment["SPARK_SUBMIT_OPTS"] == jvm.options()


def test_a_rehearsal_that_fails_names_its_log_and_leaves_no_archive(monkeypatch, tmp_path):
    monkeypatch.setenv("JAVA_HOME", str(tmp_path))
    archive = tmp_path / "archives" / "classes.jsa"
    log = tmp_path / "rehearsal.log"

    with pytest.raises(jvm.RehearsalError, match=r"rehearsal\.log"):
        jvm.rehearse(archive, log)

    assert "JAVA_GATEWAY_EXITED" in log.read_text()
    assert list(archive.parent.iterdir()) == []


def test_the_archive_of_the_examples_is_that_of_every_spark_of_this_machine(monkeypatch, tmp_path):
    made = tmp_path / "classes.jsa"
    monkeypatch.setattr(jvm.archive, "place", lambda *_: made)

    assert jvm.missing() == made

    made.touch()
    assert jvm.missing() is None
