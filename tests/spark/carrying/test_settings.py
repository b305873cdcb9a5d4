"""Settings that a session has for a while."""

import pytest
from strandline_spark import settings

KNOWN, OTHER = "spark.sql.shuffle.partitions", "strandline.nobody.knows"


def failing(session):
    with settings.during(session, {KNOWN: "3", OTHER: "x"}):
        assert (session.conf.get(KNOWN), session.conf.get(OTHER)) == ("3", "x")
        raise KeyError


def test_what_a_session_had_before_it_has_again_whatever_went_wrong(spark):
    own = spark.newSession()
    own.conf.set(KNOWN, "7")
    with pytest.raises(KeyError):
        failing(own)
    assert (own.conf.get(KNOWN), own.conf.get(OTHER, None)) == ("7", None)


def test_a_setting_may_be_taken_away_for_a_while(spark):
    own = spark.newSession()
    own.conf.set(OTHER, "x")
    with settings.during(own, {OTHER: None}):
        assert own.conf.get(OTHER, None) is None
    assert own.conf.get(OTHER) == "x"
