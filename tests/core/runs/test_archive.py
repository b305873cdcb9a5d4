"""Which archive of Spark's classes Java maps, and which run leaves it."""

import os
import shlex
import shutil
import subprocess
from pathlib import Path
from types import SimpleNamespace

import pytest

from strandline.errors import Transient
from strandline.runs import archive


@pytest.fixture
def jar(tmp_path):
    made = tmp_path / "delta.jar"
    made.touch()
    return made


@pytest.fixture
def environment(tmp_path):
    """A Java, and a folder for archives."""
    java = tmp_path / "java" / "bin" / "java"
    java.parent.mkdir(parents=True)
    java.touch()
    return {"JAVA_HOME": str(tmp_path / "java"), archive.VARIABLE: str(tmp_path / "archives")}


def test_the_archive_lies_in_the_folder_that_the_variable_names(environment, jar, tmp_path):
    place = archive.place(environment, [jar])
    assert place.parent == tmp_path / "archives"
    assert place == archive.place(environment, [jar])


def test_another_java_and_other_jars_have_another_archive(environment, jar):
    before = archive.place(environment, [jar])
    os.utime(jar, (1, 1))
    with_other_jar = archive.place(environment, [jar])
    os.utime(Path(environment["JAVA_HOME"], "bin", "java"), (1, 1))
    assert len({before, with_other_jar, archive.place(environment, [jar])}) == 3


@pytest.mark.parametrize(
    ("variable", "value"),
    [
        ("STRANDLINE_SPARK_ARCHIVE", "none"),
        ("SPARK_CONF_DIR", "/etc/spark"),
        ("HADOOP_CONF_DIR", "/etc/hadoop"),
        ("SPARK_SUBMIT_OPTS", "-XX:SharedArchiveFile=/theirs.jsa"),
        ("JAVA_HOME", "/nowhere"),
    ],
)
def test_there_is_none_where_java_could_not_use_it_or_nobody_wants_it(
    environment, jar, variable, value
):
    assert archive.place(environment, [jar])
    assert archive.place({**environment, variable: value}, [jar]) is None


def test_a_disk_that_is_nearly_full_gets_none(environment, jar, monkeypatch):
    monkeypatch.setattr(shutil, "disk_usage", lambda _folder: SimpleNamespace(free=1 << 20))
    assert archive.place(environment, [jar]) is None


def start(place):
    """What a run is told, which then does as Java does."""
    with archive.kept(place) as setting:
        (options,) = setting.values() or ("",)
        if "ArchiveClassesAtExit" in options:
            written(options).write_bytes(b"classes")
    return options


def written(options):
    return Path(shlex.split(options)[0].partition("=")[2])


def test_the_second_run_of_a_machine_writes_what_all_later_ones_map(tmp_path):
    place = tmp_path / "archives" / "classes.jsa"
    first, second, third, fourth = (start(place) for _ in range(4))
    assert first == ""
    assert second.startswith("-XX:ArchiveClassesAtExit=")
    assert third == fourth == f"-XX:SharedArchiveFile={place} -Xlog:cds*=off"
    assert [file.name for file in place.parent.iterdir()] == [place.name]


def test_a_run_that_fails_leaves_no_archive_and_its_repetition_writes_none(tmp_path):
    place = tmp_path / "classes.jsa"
    start(place)

    def fail():
        with archive.kept(place) as setting:
            written(setting[archive.SETTING]).write_bytes(b"half of it")
            raise Transient("killed")

    with pytest.raises(Transient):
        fail()

    assert list(tmp_path.iterdir()) == []
    assert start(place) == ""


def test_two_runs_write_no_file_in_common(tmp_path):
    place = tmp_path / "classes.jsa"
    with archive.written(place) as one, archive.written(place) as other:
        assert written(one[archive.SETTING]) != written(other[archive.SETTING])


def test_without_a_place_a_run_is_told_nothing():
    assert start(None) == ""


@pytest.mark.parametrize("content", [None, b"of another Java"], ids=["none", "another Java's"])
def test_java_starts_without_a_word_where_the_archive_is_of_no_use(tmp_path, content):
    place = tmp_path / "an archive.jsa"
    place.touch()
    told = shlex.split(archive.reading(place)[archive.SETTING])
    place.unlink()
    if content is not None:
        place.write_bytes(content)

    done = subprocess.run([java(), *told, "-version"], capture_output=True, text=True, check=True)

    assert done.stdout == ""
    assert "warning" not in done.stderr.lower()


def java():
    home = os.environ.get("JAVA_HOME")
    return str(Path(home, "bin", "java")) if home else "java"
