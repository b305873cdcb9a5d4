"""What is said of a connector's settings: every rule by example."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st
from samples.connector_settings import (
    BEYOND,
    BY_ID,
    EXAMPLES,
    GOOD_POSTGRESQL,
    IDENTITIES,
    KAFKA,
    SMT,
    flat,
    kafka_filter,
    smt,
)

from strandline import advice
from strandline.advice import RULES, Configuration, Severity
from strandline.advice.configuration import Family


def configuration(settings, family=Family.POSTGRESQL):
    return Configuration(None, family, settings)


def found(rule, settings, family):
    return [(f.setting, f.value) for f in rule.findings(configuration(settings, family))]


def test_every_rule_has_a_name_of_its_own_and_an_example():
    assert len(BY_ID) == len(RULES)
    assert EXAMPLES.keys() | BEYOND == BY_ID.keys()


@pytest.mark.parametrize("name", EXAMPLES)
def test_a_rule_finds_the_setting_and_its_value_in_its_families_only(name):
    rule, example = BY_ID[name], EXAMPLES[name]
    for family in Family:
        expected = [(example.setting, example.value)] if family in rule.families else []
        assert found(rule, example.wrong, family) == expected


@pytest.mark.parametrize("name", EXAMPLES)
def test_a_rule_finds_nothing_where_the_setting_is_right(name):
    rule, example = BY_ID[name], EXAMPLES[name]
    for family in rule.families:
        assert found(rule, example.right, family) == []


# `set setting=value` or `set it to value`
_SET = re.compile(r"set (?:([\w.]+)=|it to )([\w.*]+(?:,[\w.*]+)*)")
# Their remedy makes up for the setting instead of changing it.
_MADE_UP_FOR = {"snapshot-in-parallel"}


@pytest.mark.parametrize("name", sorted(EXAMPLES.keys() - _MADE_UP_FOR))
def test_what_a_remedy_sets_silences_its_rule(name):
    rule, example = BY_ID[name], EXAMPLES[name]
    part = "transforms.x." if example.setting.startswith("transforms.x.") else ""
    for setting, value in _SET.findall(rule.remedy):
        right = {part + setting if setting else example.setting: value}
        assert found(rule, {**example.wrong, **right}, rule.families[0]) == []


def test_most_remedies_are_settings():
    assert sum(bool(_SET.search(rule.remedy)) for rule in RULES) > len(RULES) / 2


@pytest.mark.parametrize(
    ("name", "settings"),
    [
        ("truncates-skipped", {"skipped.operations": "none,t"}),
        ("plugin-without-truncates", {"plugin.name": "wal2json"}),
        ("gtid-sources", {"gtid.source.includes": "36f1"}),
        ("long-transactions", {"log.mining.transaction.retention.hours": "4"}),
        ("archive-logs-limited", {"archive.log.hours": "4"}),
        ("users-left-out", {"log.mining.clientid.include.list": "A"}),
        ("ddl-skipped", {"database.history.skip.unparseable.ddl": "TRUE"}),
        ("tables-chosen", {"database.exclude.list": "a"}),
        ("columns-chosen", {"column.include.list": "a.b.c"}),
        ("placeholder", {"toasted.value.placeholder": "none"}),
        ("replica-identity-index", {IDENTITIES: "public.a:USING INDEX a_key"}),
        ("values-read-later", {
            "post.processors": "r",
            "post.processors.r.type": "ReselectColumnsPostProcessor",
        }),
        ("flattened-deletes-dropped-before-3", flat(drop_tombstones="true")),
        ("flattened-truncates", smt("ExtractNewRecordState")),
        ("records-filtered", kafka_filter("RecordIsTombstone", negate="true")),
        ("records-filtered", smt(f"{KAFKA}Filter")),
        ("topics-compacted", {"topic.creation.my.rows.cleanup.policy": "Compact"}),
        ("topics-retention", {"topic.creation.my.rows.retention.bytes": "1000"}),
        ("partitions-without-keys", {"producer.override.partitioner.class": "com.example.Own"}),
        ("control-topics", {"transaction.topic": "tx"}),
        ("mining-without-ddl", {"log.mining.strategy": "ONLINE_CATALOG"}),
        *(
            ("key-altered", smt(f"{KAFKA}{name}$Key"))
            for name in ("Cast", "InsertField", "HoistField", "TimestampConverter")
        ),
        ("envelope-extracted", smt(f"{KAFKA}HoistField$Value")),
        ("fields-moved-to-headers", smt("HeaderFrom$Key", operation="MOVE", fields="id")),
    ],
)  # fmt: skip
def test_other_spellings_and_older_names_are_found_too(name, settings):
    rule = BY_ID[name]
    assert found(rule, settings, rule.families[0])


@pytest.mark.parametrize(
    ("name", "settings"),
    [
        ("flattened-deletes-dropped-before-3", flat(drop_tombstones="false")),
        ("flattened-deletes-dropped-before-3", flat(delete_tombstone_handling_mode="tombstone")),
        ("gtid-sources", {}),
        ("nulls-replaced", {}),
        ("values-without-schema", {"value.converter.schemas.enable": "false"}),
        ("partitions-without-keys", {
            "producer.override.partitioner.class":
            "org.apache.kafka.clients.producer.internals.DefaultPartitioner",
        }),
        ("snapshot-in-parallel", {"snapshot.max.threads": "many"}),
        ("mining-without-ddl", {"database.connection.adapter": "xstream"}),
        ("tombstones-filtered", {**kafka_filter("RecordIsTombstone"), "predicates.p.type": "x.Y"}),
    ],
)  # fmt: skip
def test_what_only_looks_alike_is_not_found(name, settings):
    rule = BY_ID[name]
    for family in rule.families:
        assert found(rule, settings, family) == []


def test_what_no_configuration_shows_is_noted_for_its_families():
    (note,) = BY_ID["binlog-image"].findings(configuration({}, Family.MYSQL))
    assert (note.severity, note.value) == (Severity.NOTE, "not shown here")
    assert "binlog_row_image=FULL" in note.remedy
    assert not found(BY_ID["binlog-image"], {}, Family.ORACLE)


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.id)
def test_a_rule_says_what_happens_and_what_to_do_in_one_line_without_full_stops(rule):
    for clause in (rule.effect, rule.remedy, rule.condition.words):
        assert clause == " ".join(clause.split())
        assert clause
        assert not clause.endswith(".")


@given(st.dictionaries(st.text(min_size=1).map(lambda name: f"my.{name}"), st.text(), max_size=5))
def test_settings_without_a_rule_change_nothing_of_what_the_rules_find(settings):
    good = configuration(GOOD_POSTGRESQL)
    found = advice.findings(configuration({**settings, **GOOD_POSTGRESQL}))
    assert [f for f in found if f.severity is not Severity.UNJUDGED] == advice.findings(good)


def test_a_blank_value_counts_as_absent():
    rule = BY_ID["truncates-skipped"]
    assert found(rule, {"skipped.operations": "  "}, Family.MYSQL) == [
        ("skipped.operations", "default (t)")
    ]


def test_findings_come_with_the_worst_first():
    unknown = {**flat(), "my.setting": "1"}
    severities = [finding.severity for finding in advice.findings(configuration(unknown))]
    assert severities == sorted(severities, key=list(Severity).index)
    assert set(severities) == set(Severity)


def test_a_transformation_that_is_not_listed_is_not_in_use():
    settings = {**smt(f"{SMT}Filter"), "transforms": "y"}
    assert found(BY_ID["events-filtered"], settings, Family.MYSQL) == []


def test_every_transformation_of_a_kind_is_found():
    settings = {
        "transforms": "a, b",
        "transforms.a.type": f"{SMT}Filter",
        "transforms.b.type": f"{SMT}Filter",
    }
    assert [setting for setting, _ in found(BY_ID["events-filtered"], settings, Family.MYSQL)] == [
        "transforms.a.type",
        "transforms.b.type",
    ]


@pytest.mark.parametrize("name", ["YBExtractNewRecordState", "yugabytedb.YBExtractNewRecordState"])
def test_yugabytedb_s_classes_for_replication_slots_are_known_by_both_names_it_gives_them(name):
    settings = smt(f"io.debezium.connector.postgresql.transforms.{name}")
    assert found(BY_ID["flattened-nulls-replaced"], settings, Family.YUGABYTEDB_SLOT)
