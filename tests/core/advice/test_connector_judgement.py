"""What of a connector's configuration is not judged, so that `ok` means judged and good."""

import pytest
from samples.connector_properties import DOCUMENTED, NOT_JUDGED
from samples.connector_settings import GOOD_POSTGRESQL, KAFKA, SMT, flat, smt

from strandline import advice
from strandline.advice import HARMLESS, RULES, Configuration, Severity
from strandline.advice.configuration import Family


def unjudged(settings, family=Family.POSTGRESQL):
    found = advice.findings(Configuration(None, family, settings))
    return [finding for finding in found if finding.severity is Severity.UNJUDGED]


def names(settings, family=Family.POSTGRESQL):
    return [finding.setting for finding in unjudged(settings, family)]


@pytest.mark.parametrize("family", DOCUMENTED)
def test_each_documented_property_is_judged_harmless_or_left_on_purpose(family):
    settings = dict.fromkeys(DOCUMENTED[family], "1")
    assert set(names(settings, family)) == set(NOT_JUDGED.get(family, ()))


def test_a_setting_that_no_rule_knows_is_listed_without_its_value():
    (finding,) = unjudged({"my.api": "hunter2"})
    assert (finding.setting, finding.value) == ("my.api", "(not shown)")
    assert "hunter2" not in finding.line()


def test_a_setting_of_another_connector_is_not_judged():
    assert names({"lob.enabled": "true"}) == ["lob.enabled"]
    assert names({"lob.enabled": "true"}, Family.ORACLE) == []


def test_a_setting_that_is_spelt_wrong_names_the_one_that_may_be_meant():
    (finding,) = unjudged({"skiped.operations": "none"})
    assert "write skipped.operations" in finding.remedy


def test_a_blank_setting_is_absent():
    assert names({"my.setting": " "}) == []


CONVERTER = {
    "converters": "times",
    "times.type": "oryanmoshe.kafka.connect.util.TimestampConverter",
    "times.format.date": "YYYY-MM-dd",
}


def test_a_converter_of_somebody_s_own_is_told_once_by_its_class():
    (finding,) = unjudged(CONVERTER, Family.SQLSERVER)
    assert (finding.setting, finding.value) == ("times.type", CONVERTER["times.type"])
    assert "reconcile__SOURCE" in finding.remedy


def test_a_configuration_with_a_part_that_nobody_knows_is_not_called_ok():
    settings = Configuration(None, Family.POSTGRESQL, {**GOOD_POSTGRESQL, **CONVERTER})
    summary = advice.summary(settings, advice.findings(settings))
    assert summary.startswith("not all judged: ")
    lost = Configuration(None, Family.POSTGRESQL, {**settings.settings, "errors.tolerance": "all"})
    assert advice.summary(lost, advice.findings(lost)).startswith("not ok: ")


@pytest.mark.parametrize(
    ("settings", "told"),
    [
        (smt("com.example.Transformation", other="s"), "transforms.x.type"),
        ({"post.processors": "p", "p.type": "com.example.P", "p.a": "b"}, "p.type"),
        ({"predicates": "p", "predicates.p.type": "com.example.P"}, "predicates.p.type"),
    ],
)
def test_a_part_that_no_rule_knows_is_told_by_its_class_only(settings, told):
    assert names(settings) == [told]


def test_an_option_of_a_known_transformation_that_no_rule_knows_is_told():
    assert names(flat(**{"drop.unknown": "x", "add.headers": "op"})) == [
        "transforms.x.drop.unknown"
    ]


def test_options_of_a_transformation_of_which_all_is_said_are_not_told():
    assert names(smt(f"{SMT}ByLogicalTableRouter", topic_regex="a", topic_replacement="b")) == []
    assert names(smt(f"{KAFKA}InsertHeader", header="a")) == []
    assert names(smt(f"{SMT}ExtractChangedRecordState", header_changed_name="c")) == []


def test_a_transformation_that_is_not_listed_is_not_in_use_and_not_told():
    assert names({"transforms.old.type": "com.example.T", "predicates.p.type": "x"}) == []


def test_settings_of_a_converter_that_is_refused_anyway_are_not_told():
    avro = {"value.converter": "io.confluent.connect.avro.AvroConverter"}
    assert names({**avro, "value.converter.schema.registry.url": "http://r"}) == []


def test_no_setting_is_harmless_and_in_a_rule_of_the_same_connector_without_a_reason():
    both = {
        (family, rule.condition.setting)
        for group in HARMLESS
        for rule in RULES
        for family in {*group.families} & {*rule.families}
        if group.has(rule.condition.setting)
    }
    # A rule is about some values, or about some connectors; others do nothing.
    assert {setting for _, setting in both} == {
        "heartbeat.interval.ms",
        "snapshot.locking.mode",
    }
