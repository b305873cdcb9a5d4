"""Whose options Java gets."""

import pytest

from strandline.runs import jvm


def test_a_driver_of_one_machine_gets_the_options_that_were_measured():
    assert jvm.settings({"PATH": "/bin"}) == {"spark.driver.extraJavaOptions": jvm.OPTIONS}


@pytest.mark.parametrize("variable", ["SPARK_CONF_DIR", "SPARK_SUBMIT_OPTS"])
def test_options_that_somebody_may_have_for_java_stay(variable):
    assert jvm.settings({variable: "theirs"}) == {}
