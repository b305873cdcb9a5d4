"""How the examples start Spark's JVM."""

import os
import shlex
import subprocess
from pathlib import Path

import pytest

from examples import jvm
from examples.stage import Stage


def test_the_settings_of_small_runs_are_options():
    options = shlex.split(jvm.options())

    assert "-Dspark.sql.codegen.wholeStage=false" in options
    assert "-XX:+UseSerialGC" in options
    assert not [option for option in options if not option.startswith("-")]


@pytest.mark.parametrize("content", [None, b"of another Java"], ids=["none", "another Java's"])
def test_java_starts_without_a_word_where_the_archive_is_of_no_use(monkeypatch, tmp_path, content):
    archive = tmp_path / "classes.jsa"
    if content is not None:
        archive.write_bytes(content)
    monkeypatch.setattr(jvm, "ARCHIVE", archive)

    done = subprocess.run(
        [java(), *shlex.split(jvm.options()), "-version"],
        capture_output=True,
        text=True,
        check=True,
    )

    assert done.stdout == ""
    assert "warning" not in done.stderr.lower()


def java():
    home = os.environ.get("JAVA_HOME")
    return str(Path(home, "bin", "java")) if home else "java"


def test_a_spark_that_the_user_has_configured_does_not_get_in(monkeypatch, tmp_path):
    monkeypatch.setenv("SPARK_CONF_DIR", "/etc/spark")

    environment = Stage(tmp_path).environment(tmp_path, {})

    assert "SPARK_CONF_DIR" not in environment
    assert environment["SPARK_SUBMIT_OPTS"] == jvm.options()


def test_a_rehearsal_that_fails_names_its_log_and_leaves_no_archive(monkeypatch, tmp_path):
    monkeypatch.setenv("JAVA_HOME", str(tmp_path))
    monkeypatch.setattr(jvm, "ARCHIVE", tmp_path / "classes.jsa")
    log = tmp_path / "rehearsal.log"

    with pytest.raises(jvm.RehearsalError, match=r"rehearsal\.log"):
        jvm.rehearse(log)

    assert "JAVA_GATEWAY_EXITED" in log.read_text()
    assert not jvm.ARCHIVE.exists()
