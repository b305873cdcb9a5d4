"""Where Delta's jars are looked for, and how Spark is given them."""

import os
import zipfile
from pathlib import Path

import pytest

from strandline.errors import Terminal
from strandline.runs import jars


@pytest.fixture
def folder(tmp_path):
    """All of Delta's jars, named as Maven names them."""
    for name in jars.NAMES:
        jar(tmp_path / name)
    return tmp_path


def jar(path):
    with zipfile.ZipFile(path, "w") as made:
        made.writestr("META-INF/MANIFEST.MF", "Manifest-Version: 1.0\n")


def named(folder):
    return {jars.VARIABLE: str(folder)}


def test_the_jars_are_those_of_the_folder_that_the_variable_names(folder):
    assert jars.at_hand(named(folder)) == tuple(folder / name for name in jars.NAMES)


def test_without_a_word_they_are_those_that_spark_has_resolved_before(tmp_path):
    (tmp_path / "jars").mkdir()
    for name in jars.NAMES:
        organisation = "io.unitycatalog" if name.startswith("unity") else "io.delta"
        jar(tmp_path / "jars" / f"{organisation}_{name}")

    found = jars.at_hand({}, ivy=str(tmp_path))

    assert len(found) == len(jars.NAMES)
    assert {file.parent for file in found} == {tmp_path / "jars"}


def test_what_was_not_resolved_yet_is_resolved_by_spark(tmp_path):
    assert jars.at_hand({}, ivy=str(tmp_path)) == ()


def test_half_a_jar_is_resolved_again(folder):
    whole = (folder / jars.NAMES[0]).read_bytes()
    (folder / "jars").mkdir()
    for name in jars.NAMES:
        (folder / name).rename(folder / "jars" / name)
    (folder / "jars" / jars.NAMES[0]).write_bytes(whole[: len(whole) // 2])

    assert jars.at_hand({}, ivy=str(folder)) == ()


def test_spark_resolves_the_package_each_time_where_that_is_asked_for(folder):
    environment = {jars.VARIABLE: jars.AT_EACH_START}
    assert jars.at_hand(environment, ivy=str(folder)) == ()


def test_a_jar_that_is_missing_is_named_with_its_folder_and_what_to_do(folder):
    (folder / jars.NAMES[1]).unlink()

    with pytest.raises(Terminal) as refused:
        jars.at_hand(named(folder))

    assert str(refused.value) == (
        f"STRANDLINE_SPARK_JARS is {folder}, but delta-storage-4.4.0.jar is not there, or not "
        "whole: copy all jars of io.delta:delta-spark_4.2_2.13:4.4.0 into that folder on every "
        "worker, or unset the variable: Spark then fetches the package once, and with the value "
        "'packages' each time"
    )


def test_a_driver_of_one_machine_has_them_on_its_class_path_before_those_of_the_source():
    conf = {"spark.driver.extraClassPath": "/theirs/*"}
    given = jars.settings((Path("/a.jar"), Path("/b.jar")), {}, conf, local=True)
    assert given == {
        "spark.driver.extraClassPath": os.pathsep.join(["/a.jar", "/b.jar", "/theirs/*"])
    }


@pytest.mark.parametrize("variable", ["SPARK_CONF_DIR", "SPARK_HOME"])
def test_a_class_path_that_somebody_may_have_in_a_file_stays(variable):
    given = jars.settings((Path("/a.jar"),), {variable: "theirs"}, {}, local=True)
    assert given == {"spark.jars": "/a.jar"}


def test_executors_elsewhere_are_sent_them_beside_those_of_the_source():
    given = jars.settings((Path("/a.jar"),), {}, {"spark.jars": "/theirs.jar"}, local=False)
    assert given == {"spark.jars": "/a.jar,/theirs.jar"}
