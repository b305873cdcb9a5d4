"""Connector configurations: every rule by example, reading, secrets, the page, the command line."""

import json
import re
from dataclasses import dataclass, field
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from strandline import advice, cli
from strandline.advice import RULES, Configuration, Severity, page
from strandline.advice.configuration import CLASSES, Family
from strandline.errors import SpecError

PAGE = Path(__file__).parents[2] / "docs/connector-settings.md"
EXAMPLES_OF_USE = Path(__file__).parents[2] / "examples"
BY_ID = {rule.id: rule for rule in RULES}
JSON = "org.apache.kafka.connect.json.JsonConverter"
WITHOUT_SCHEMA = {"value_converter": JSON, "value_converter_schemas_enable": "false"}
SMT = "io.debezium.transforms."
KAFKA = "org.apache.kafka.connect.transforms."


def smt(of, **options):
    """A configuration with one transformation `x`; `_` in the names of its options is `.`."""
    named = {f"transforms.x.{name.replace('_', '.')}": value for name, value in options.items()}
    return {"transforms": "x", "transforms.x.type": of, **named}


def flat(**options):
    return smt(f"{SMT}ExtractNewRecordState", **options)


def kafka_filter(predicate, **options):
    return {
        **smt(f"{KAFKA}Filter", predicate="p", **options),
        "predicates": "p",
        "predicates.p.type": f"{KAFKA}predicates.{predicate}",
    }


@dataclass(frozen=True)
class Example:
    """`wrong` has the finding `setting` = `value`; `right` has none of the rule."""

    setting: str
    value: str
    wrong: dict[str, str]
    right: dict[str, str] = field(default_factory=dict)


def plain(setting, wrong, right=None, **more):
    """One setting, wrong and right; `right` None is its absence."""
    others = {name.replace("_", "."): value for name, value in more.items()}
    return Example(
        setting,
        wrong,
        {setting: wrong, **others},
        others if right is None else {setting: right, **others},
    )


def default(setting, value, right, **more):
    """One setting whose absence is wrong; `value` is the default, None where it has none."""
    others = {name.replace("_", "."): value for name, value in more.items()}
    shown = "default" if value is None else f"default ({value})"
    return Example(setting, shown, others, {setting: right, **others})


def type_of(name):
    return Example("transforms.x.type", name, smt(name), smt("com.example.Unknown"))


BASED = "snapshot.mode.configuration.based"
BY_CONFIGURATION = {"snapshot.mode": "configuration_based"}
IDENTITIES = "replica.identity.autoset.values"
POSITIONS = {
    "postgresql": "op,source.ts_us,source.snapshot,source.lsn,source.sequence,source.txId",
    "mysql": "op,source.ts_ms,snapshot,file,pos,row",
    "sqlserver": "op,source.ts_ms,snapshot,commit_lsn,change_lsn,event_serial_no",
    "oracle": "op,source.ts_ms,source.snapshot,source.scn,source.commit_scn,source.txId",
    "yugabytedb": "op,source.ts_ms,source.snapshot,source.lsn,source.commit_time,source.txId",
}

EXAMPLES = {
    "truncates-skipped": default("skipped.operations", "t", "none"),
    "truncates-skipped-yugabytedb": plain("skipped.operations", "T"),
    "truncates-skipped-before-2": plain("truncate.handling.mode", "skip", "include"),
    "rows-skipped": plain("skipped.operations", "t, U", "t"),
    "errors-tolerated": plain("errors.tolerance", "all", "none"),
    "failed-events-skipped": plain("event.processing.failure.handling.mode", "warn", "FAIL"),
    "unreadable-events-skipped": plain(
        "event.deserialization.failure.handling.mode", "ignore", "fail"
    ),
    "unknown-tables-skipped": plain("inconsistent.schema.handling.mode", "skip", "fail"),
    "exceptions-ignored": plain("ignore.exceptions", "true", "false"),
    "slot-dropped": plain("slot.drop.on.stop", "true", "false"),
    "stream-deleted": plain("stream.delete.on.stop", "true", "false"),
    "plugin-without-truncates": default("plugin.name", "decoderbufs", "pgoutput"),
    "replica-identity-nothing": plain(
        IDENTITIES, "public.a:FULL,public.b:NOTHING", "public.a:FULL"
    ),
    "replica-identity-index": plain(IDENTITIES, "public.a:INDEX a_key", "public.index_a:DEFAULT"),
    "replica-identity-of-tables": default(IDENTITIES, None, "public.*:FULL"),
    "truncates-of-partitions": plain("publish.via.partition.root", "true", "false"),
    "publication-by-hand": plain("publication.autocreate.mode", "disabled", "filtered"),
    "wal-of-idle-database": default("heartbeat.interval.ms", "0", "60000"),
    "positions-of-a-slot": default("slot.lsn.type", "SEQUENCE", "HYBRID_TIME"),
    "positions-of-transactions": plain("slot.lsn.type", "HYBRID_TIME", "SEQUENCE"),
    "slots-in-parallel": plain("streaming.mode", "parallel", "default"),
    "cells-of-yugabytedb": default("plugin.name", "yboutput", "pgoutput"),
    "gtid-sources": Example(
        "gtid.source.excludes",
        "36f1",
        {"gtid.source.excludes": "36f1"},
        {"gtid.source.excludes": "36f1", "gtid.source.filter.dml.events": "false"},
    ),
    "lobs": default("lob.enabled", "false", "true"),
    "long-transactions": plain("log.mining.transaction.retention.ms", "3600000", "0"),
    "large-transactions": plain("log.mining.buffer.transaction.events.threshold", "5000", "0"),
    "users-left-out": plain("log.mining.username.exclude.list", "BATCH"),
    "transactions-at-snapshot": default(
        "internal.log.mining.transaction.snapshot.boundary.mode", "skip", "all"
    ),
    "archive-logs-limited": plain("log.mining.archive.log.hours", "24", "0"),
    "mining-without-ddl": default("log.mining.strategy", "online_catalog", "hybrid"),
    "ddl-skipped": plain("schema.history.internal.skip.unparseable.ddl", "true", "false"),
    "updates-without-change": plain("skip.messages.without.change", "true", "false"),
    "tables-chosen": plain("table.include.list", "public.a"),
    "columns-chosen": plain("column.exclude.list", "public.a.photo"),
    "message-key-of-postgresql": plain("message.key.columns", "public.a:code"),
    "message-key": plain("message.key.columns", "public.a:code"),
    "no-stream": plain("snapshot.mode", "initial_only", "initial"),
    "no-stream-configured": Example(
        f"{BASED}.start.stream",
        "default (false)",
        BY_CONFIGURATION,
        {f"{BASED}.start.stream": "true", **BY_CONFIGURATION},
    ),
    "no-initial-rows": plain("snapshot.mode", "no_data", "initial"),
    "no-initial-rows-configured": Example(
        f"{BASED}.snapshot.data",
        "false",
        {f"{BASED}.snapshot.data": "false", **BY_CONFIGURATION},
        {f"{BASED}.snapshot.data": "false"},
    ),
    "recovery": plain("snapshot.mode", "recovery", "initial"),
    "gap-bridged": plain("snapshot.mode", "when_needed", "initial"),
    "snapshot-at-every-start": plain("snapshot.mode", "always", "initial"),
    "custom-snapshot": plain("snapshot.mode", "custom", "initial"),
    "snapshot-filtered": plain("snapshot.select.statement.overrides", "public.a"),
    "snapshot-of-some-tables": plain("snapshot.include.collection.list", "public.a"),
    "snapshot-inconsistent": plain("snapshot.isolation.mode", "read_committed", "snapshot"),
    "snapshot-without-locks": plain("snapshot.locking.mode", "none", "minimal"),
    "snapshot-in-parallel": plain("snapshot.max.threads", "4", "1"),
    "unconvertible-values": default("event.converting.failure.handling.mode", "warn", "fail"),
    "decimals-as-doubles": plain("decimal.handling.mode", "Double", "string"),
    "decimals-as-doubles-yugabytedb": default("decimal.handling.mode", "double", "string"),
    "numeric-nan": default("decimal.handling.mode", "precise", "string"),
    "unsigned-bigints": Example(
        "bigint.unsigned.handling.mode",
        "default (long)",
        {},
        {"column.propagate.source.type": ".*"},
    ),
    "times-in-milliseconds": plain("time.precision.mode", "connect", "adaptive"),
    "times-as-text": plain("time.precision.mode", "isostring", "adaptive"),
    "intervals-as-numbers": default("interval.handling.mode", "numeric", "string"),
    "years-of-two-digits": default("enable.time.adjuster", "true", "false"),
    "tinyint-as-boolean": Example(
        "flag.type",
        "io.debezium.connector.binlog.converters.TinyIntOneToBooleanConverter",
        {
            "converters": "other,flag",
            "other.type": "com.example.Converter",
            "flag.type": "io.debezium.connector.binlog.converters.TinyIntOneToBooleanConverter",
        },
        {"flag.type": "io.debezium.connector.binlog.converters.TinyIntOneToBooleanConverter"},
    ),
    "binary-as-text": plain("binary.handling.mode", "base64", "bytes"),
    "unknown-types": default("include.unknown.datatypes", "false", "true"),
    "columns-truncated": plain("column.truncate.to.20.chars", "public.a.note"),
    "columns-masked": plain("column.mask.with.5.chars", "public.a.name"),
    "columns-hashed": Example(
        "column.mask.hash.v2.SHA-256.with.salt.(hidden)",
        "public.a.name",
        {"column.mask.hash.v2.SHA-256.with.salt.CzQMA0cB5K": "public.a.name"},
    ),
    "values-read-later": Example(
        "reselector.type",
        "io.debezium.processors.reselect.ReselectColumnsPostProcessor",
        {
            "post.processors": "reselector",
            "reselector.type": "io.debezium.processors.reselect.ReselectColumnsPostProcessor",
        },
        {"post.processors": "other", "other.type": "com.example.PostProcessor"},
    ),
    "placeholder": plain("unavailable.value.placeholder", "hex:00", "__debezium_unavailable_value"),
    "transaction-begin-as-time": default("data.query.mode", "direct", "function"),
    "flattened-truncates": type_of(f"{SMT}ExtractNewRecordState"),
    "flattened-deletes-dropped": Example(
        "transforms.x.delete.tombstone.handling.mode",
        "drop",
        flat(delete_tombstone_handling_mode="drop"),
        flat(delete_tombstone_handling_mode="rewrite"),
    ),
    "flattened-deletes-dropped-before-3": Example(
        "transforms.x.delete.handling.mode",
        "default (drop)",
        flat(),
        flat(delete_handling_mode="rewrite"),
    ),
    "flattened-deletes-without-tombstones": Example(
        "tombstones.on.delete",
        "false",
        {**flat(drop_tombstones="false"), "tombstones.on.delete": "false"},
        flat(drop_tombstones="false"),
    ),
    "flattened-deletes-as-tombstones": Example(
        "transforms.x.delete.tombstone.handling.mode",
        "tombstone",
        flat(delete_tombstone_handling_mode="tombstone"),
        flat(delete_tombstone_handling_mode="rewrite-with-tombstone"),
    ),
    "flattened-deletes-as-nulls": Example(
        "transforms.x.delete.handling.mode",
        "none",
        flat(delete_handling_mode="none"),
        flat(delete_handling_mode="rewrite"),
    ),
    **{
        f"flattened-without-source-{family}": Example(
            "transforms.x.add.fields",
            "op,ts_ms",
            flat(add_fields="op,ts_ms"),
            flat(add_fields=fields),
        )
        for family, fields in POSITIONS.items()
    },
    "flattened-prefix": Example(
        "transforms.x.add.fields.prefix",
        "cdc_",
        flat(add_fields_prefix="cdc_"),
        flat(add_fields_prefix="__"),
    ),
    "flattened-nulls-replaced": Example(
        "transforms.x.replace.null.with.default",
        "default (true)",
        flat(),
        flat(replace_null_with_default="false"),
    ),
    "yugabytedb-set-flags": type_of("io.debezium.connector.yugabytedb.transforms.PGCompatible"),
    "events-filtered": type_of(f"{SMT}Filter"),
    "records-filtered": Example(
        "transforms.x.predicate",
        "HasHeaderKey",
        kafka_filter("HasHeaderKey"),
        kafka_filter("RecordIsTombstone"),
    ),
    "topics-filtered": Example(
        "transforms.x.predicate",
        "TopicNameMatches",
        kafka_filter("TopicNameMatches"),
        kafka_filter("HasHeaderKey"),
    ),
    "tombstones-filtered": Example(
        "transforms.x.predicate",
        "RecordIsTombstone",
        kafka_filter("RecordIsTombstone"),
        kafka_filter("RecordIsTombstone", negate="true"),
    ),
    "records-cut": Example(
        "transforms.x.strategy",
        "default (truncate)",
        smt(f"{SMT}EnforceRecordSize"),
        smt(f"{SMT}EnforceRecordSize", strategy="claim_check"),
    ),
    "records-checked-in": Example(
        "transforms.x.strategy",
        "claim_check",
        smt(f"{SMT}EnforceRecordSize", strategy="claim_check"),
        smt(f"{SMT}EnforceRecordSize"),
    ),
    "outbox": Example(
        "transforms.x.type",
        f"{SMT}outbox.EventRouter",
        smt(f"{SMT}outbox.EventRouter"),
        smt(f"{SMT}outbox.EventRouter", predicate="outboxOnly"),
    ),
    "outbox-of-some-topics": Example(
        "transforms.x.predicate",
        "outboxOnly",
        smt(f"{SMT}outbox.EventRouter", predicate="outboxOnly"),
        smt(f"{SMT}outbox.EventRouter"),
    ),
    "envelope-extracted": type_of(f"{KAFKA}ExtractField$Value"),
    "key-extracted": type_of(f"{KAFKA}ExtractField$Key"),
    "key-masked": type_of(f"{KAFKA}MaskField$Key"),
    "key-altered": type_of(f"{KAFKA}ValueToKey"),
    "fields-moved-to-headers": Example(
        "transforms.x.operation",
        "move",
        smt(f"{KAFKA}HeaderFrom$Value", operation="move", fields="source"),
        smt(f"{KAFKA}HeaderFrom$Value", operation="copy", fields="source"),
    ),
    "fields-altered": type_of(f"{KAFKA}ReplaceField$Value"),
    "times-shifted": type_of(f"{SMT}TimezoneConverter"),
    "move-headers-dropped": Example(
        "transforms.x.headers",
        "a,__debezium.newkey",
        smt(f"{KAFKA}DropHeaders", headers="a,__debezium.newkey"),
        smt(f"{KAFKA}DropHeaders", headers="a"),
    ),
    "tables-merged": type_of(f"{SMT}ByLogicalTableRouter"),
    "tables-merged-by-key": Example(
        "transforms.x.key.enforce.uniqueness",
        "false",
        smt(f"{SMT}ByLogicalTableRouter", key_enforce_uniqueness="false"),
        smt(f"{SMT}ByLogicalTableRouter"),
    ),
    "tables-merged-by-another-field": Example(
        "transforms.x.key.field.name",
        "shard",
        smt(f"{SMT}ByLogicalTableRouter", key_field_name="shard"),
        smt(f"{SMT}ByLogicalTableRouter", key_field_name="__dbz__physicalTableIdentifier"),
    ),
    "partitions-by-value": type_of(f"{SMT}partitions.PartitionRouting"),
    "topics-by-content": type_of(f"{KAFKA}TimestampRouter"),
    "topics-merged": Example(
        "transforms.x.replacement",
        "all",
        smt("RegexRouter", regex="(.*)", replacement="all"),
        smt("RegexRouter", regex="(.*)[.](.*)", replacement="$2"),
    ),
    "topics-renamed": type_of("RegexRouter"),
    "reads-as-inserts": type_of("io.debezium.connector.mysql.transforms.ReadToInsertEvent"),
    "schema-changes-filtered": type_of(f"{SMT}SchemaChangeEventFilter"),
    "nulls-replaced": default(
        "value.converter.replace.null.with.default", "true", "false", value_converter=JSON
    ),
    "values-not-json": plain("value.converter", "io.confluent.connect.avro.AvroConverter", JSON),
    "keys-not-json": plain(
        "key.converter", "org.apache.kafka.connect.storage.StringConverter", "JsonConverter"
    ),
    "converters-of-the-worker": default("value.converter", None, JSON),
    "key-converter-of-the-worker": default("key.converter", None, JSON, value_converter=JSON),
    "values-without-schema": plain(
        "value.converter.schemas.enable", "false", "true", value_converter=JSON
    ),
    "decimals-without-schema": plain(
        "decimal.handling.mode", "string", "precise", **WITHOUT_SCHEMA
    ),
    "times-without-schema": plain("time.precision.mode", "connect", "adaptive", **WITHOUT_SCHEMA),
    "headers-not-json": plain(
        "header.converter", "org.apache.kafka.connect.storage.StringConverter", JSON
    ),
    "topics-compacted": plain("topic.creation.default.cleanup.policy", "compact,delete", "delete"),
    "topics-retention": plain("topic.creation.default.retention.ms", "86400000", "-1"),
    "writes-unacknowledged": plain("producer.override.acks", "1", "all"),
    "writes-overtaking": Example(
        "producer.override.max.in.flight.requests.per.connection",
        "5",
        {"producer.override.max.in.flight.requests.per.connection": "5"},
        {
            "producer.override.max.in.flight.requests.per.connection": "5",
            "producer.override.enable.idempotence": "true",
        },
    ),
    "partitions-without-keys": plain("producer.override.partitioner.ignore.keys", "true", "false"),
    "no-tombstones": plain("tombstones.on.delete", "false", "true"),
    "no-notifications": default("notification.enabled.channels", None, "sink"),
    "notifications-elsewhere": plain("notification.enabled.channels", "log,jmx", "log,sink"),
    "notifications-by-another-name": plain(
        "notification.sink.topic.name", "notes", "shop.notifications", topic_prefix="shop"
    ),
    "no-transactions": default("provide.transaction.metadata", "false", "true"),
    "no-context-headers": plain("extended.headers.enabled", "false", "true"),
    "no-schema-topic": plain("include.schema.changes", "false", "true"),
    "control-topics": plain("topic.heartbeat.prefix", "beat"),
    "topics-by-another-delimiter": plain("topic.delimiter", "_", "."),
}

# Nothing in a configuration can show these or put them right.
BEYOND = {"binlog-image", "truncates-of-yugabytedb"}

GOOD_POSTGRESQL = {
    "connector.class": "io.debezium.connector.postgresql.PostgresConnector",
    "topic.prefix": "inventory",
    "plugin.name": "pgoutput",
    "skipped.operations": "none",
    "key.converter": JSON,
    "value.converter": JSON,
    "value.converter.replace.null.with.default": "false",
    "event.converting.failure.handling.mode": "fail",
    "interval.handling.mode": "string",
    "decimal.handling.mode": "string",
    "include.unknown.datatypes": "true",
    "notification.enabled.channels": "sink",
    "provide.transaction.metadata": "true",
    "heartbeat.interval.ms": "60000",
    "replica.identity.autoset.values": "public.*:FULL",
}


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
def test_settings_without_a_rule_change_nothing(settings):
    known = configuration(GOOD_POSTGRESQL)
    assert advice.findings(configuration({**settings, **GOOD_POSTGRESQL})) == advice.findings(known)


def test_a_blank_value_counts_as_absent():
    rule = BY_ID["truncates-skipped"]
    assert found(rule, {"skipped.operations": "  "}, Family.MYSQL) == [
        ("skipped.operations", "default (t)")
    ]


def test_findings_come_with_the_worst_first():
    severities = [finding.severity for finding in advice.findings(configuration(flat()))]
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


# ------------------------------------------------------------------------------- reading


@pytest.fixture
def file(tmp_path):
    def write(document, name="connector.json"):
        path = tmp_path / name
        path.write_text(document if isinstance(document, str) else json.dumps(document))
        return path

    return write


def test_settings_alone_and_the_form_of_the_rest_api_are_the_same(file):
    alone = advice.read(file(GOOD_POSTGRESQL))
    wrapped = advice.read(file({"name": "inventory", "config": GOOD_POSTGRESQL, "tasks": []}))
    assert alone.settings == wrapped.settings == GOOD_POSTGRESQL
    assert (alone.name, wrapped.name) == (None, "inventory")
    assert advice.read(file({"name": "own", **GOOD_POSTGRESQL})).name == "own"


@pytest.mark.parametrize(("name", "family"), CLASSES.items())
def test_a_class_is_known_by_its_full_and_its_short_names(name, family, file):
    simple = name.rpartition(".")[2]
    short = () if simple == "YugabyteDBConnector" else (simple, simple.removesuffix("Connector"))
    for spelling in (name, *short, f" {name} "):
        assert advice.read(file({"connector.class": spelling})).family is family


@pytest.mark.parametrize("name", ["YugabyteDBConnector", "YugabyteDB"])
def test_a_short_name_that_two_connectors_have_is_refused(name, file):
    with pytest.raises(SpecError) as raised:
        advice.read(file({"connector.class": name}))
    assert all(
        known in str(raised.value) for known in CLASSES if known.endswith("YugabyteDBConnector")
    )


def test_yugabytedb_s_connector_for_replication_slots_is_judged_by_rules_of_its_own(file):
    of = {"connector.class": "io.debezium.connector.postgresql.YugabyteDBConnector"}
    found = advice.findings(advice.read(file({**GOOD_POSTGRESQL, **of, "plugin.name": "yboutput"})))
    assert [(f.setting, f.severity) for f in found] == [
        ("TRUNCATE", Severity.NOTE),
        ("slot.lsn.type", Severity.NOTE),
        ("plugin.name", Severity.NOTE),
    ]


@pytest.mark.parametrize("name", ["YBExtractNewRecordState", "yugabytedb.YBExtractNewRecordState"])
def test_the_classes_of_that_connector_are_known_by_both_names_it_gives_them(name):
    settings = smt(f"io.debezium.connector.postgresql.transforms.{name}")
    assert found(BY_ID["flattened-nulls-replaced"], settings, Family.YUGABYTEDB_SLOT)


def test_numbers_and_truth_values_are_the_text_that_connect_makes_of_them(file):
    path = file('{"connector.class": "MySql", "a": 1, "b": 1.50, "c": true, "d": null}')
    settings = advice.read(path).settings
    assert settings == {"connector.class": "MySql", "a": "1", "b": "1.50", "c": "true"}


@pytest.mark.parametrize(
    ("document", "told"),
    [
        ("", "not valid JSON"),
        ('{"connector.class": ', ":1: not valid JSON"),
        ("[1]", "is a JSON object"),
        ("{}", "no 'connector.class'"),
        ('{"name": "x", "config": {"topics": "a"}}', "POST /connectors"),
        ('{"config": "text"}', "no 'connector.class'"),
        ('{"connector.class": "io.debezium.connector.db2.Db2Connector"}', "Db2Connector"),
        ('{"connector.class": null}', "unknown connector class ''"),
        ('{"connector.class": "MySql", "a": {"b": "c"}}', "'a' must be text, not an object"),
        ('{"connector.class": "MySql", "a": ["b"]}', "'a' must be text, not a list"),
        ('{"connector.class": "MySql", "a": "b", "a": "c"}', "'a' stands there twice"),
        ("[" * 100_000, "nested too deeply"),
    ],
)
def test_what_is_no_configuration_is_one_line_that_names_the_file_and_what_is_wrong(
    document, told, file
):
    path = file(document)
    with pytest.raises(SpecError) as raised:
        advice.read(path)
    assert str(raised.value).startswith(str(path))
    assert told in str(raised.value)
    assert "\n" not in str(raised.value)


def test_an_unknown_class_lists_the_known_ones(file):
    with pytest.raises(SpecError) as raised:
        advice.read(file({"connector.class": "com.example.Jdbc"}))
    assert all(name in str(raised.value) for name in CLASSES)


def test_a_file_that_is_not_there_or_no_text_is_named(tmp_path):
    with pytest.raises(SpecError, match=r"none\.json: cannot be read"):
        advice.read(tmp_path / "none.json")
    (tmp_path / "bytes.json").write_bytes(b'{"a": "\xff"}')
    with pytest.raises(SpecError, match=r"bytes\.json: not UTF-8"):
        advice.read(tmp_path / "bytes.json")


# ------------------------------------------------------------------------------- secrets

SECRET = "hunter2-hunter2"  # noqa: S105 - it is to be hidden, and none
WITH_SECRETS = {
    "connector.class": "io.debezium.connector.oracle.OracleConnector",
    "database.password": SECRET,
    "database.url": f"jdbc:oracle:thin:scott/{SECRET}@db",
    "schema.history.internal.consumer.sasl.jaas.config": f'required password="{SECRET}";',
    "schema.history.internal.producer.ssl.keystore.key": SECRET,
    "value.converter": JSON,
    "value.converter.basic.auth.user.info": f"user:{SECRET}",
    f"column.mask.hash.SHA-256.with.salt.{SECRET}": "a.b.c",
    "transforms": "password",
    "transforms.password.type": f"{KAFKA}RegexRouter",
    "transforms.password.regex": SECRET,
    "header.converter": f"http://user:{SECRET}@example.org/Converter",
}


def test_secrets_are_never_printed(file, capsys):
    assert cli.main(["check", str(file(WITH_SECRETS))]) == 2
    printed = capsys.readouterr()
    assert "column.mask.hash.SHA-256.with.salt.(hidden)" in printed.out
    assert "http://(hidden)@example.org/Converter" in printed.out
    assert SECRET not in printed.out + printed.err


@pytest.mark.parametrize(
    "document",
    [
        '{"connector.class": "MySql", "database.password": "hunter2-hunter2" x}',
        '{"connector.class": "MySql", "database.password": ["hunter2-hunter2"]}',
        '{"connector.class": "MySql", "p": "hunter2-hunter2", "p": "hunter2-hunter2"}',
        '{"connector.class": "MySql", "column.mask.hash.x.with.salt.hunter2-hunter2": {}}',
    ],
)
def test_errors_quote_no_value_and_no_salt(document, file, capsys):
    assert cli.main(["check", str(file(document))]) == 2
    printed = capsys.readouterr()
    assert SECRET not in printed.out + printed.err
    assert printed.err.count("\n") == 1


def test_a_long_value_is_cut_to_a_line(file, capsys):
    tables = ",\n".join(f"public.table_{number}" for number in range(500))
    assert cli.main(["check", str(file({**GOOD_POSTGRESQL, "table.include.list": tables}))]) == 0
    first, _ = capsys.readouterr().out.splitlines()
    assert "table.include.list = public.table_0, public.table_1," in first
    assert len(first.partition(" = ")[2].partition("…")[0]) < 100


# ------------------------------------------------------------------------------- the page


def test_the_page_of_rules_is_the_one_that_the_rules_write():
    assert PAGE.read_text(encoding="utf-8") == page.page(), (
        "run: python -m strandline.advice.page > docs/connector-settings.md"
    )


def test_the_page_has_a_row_for_each_rule():
    rows = [line for line in page.page().splitlines() if line.startswith(("| loses", "| blurs"))]
    rows += [line for line in page.page().splitlines() if line.startswith("| note |")]
    assert len(rows) == len(RULES)
    assert all(len(re.findall(r"(?<!\\)\|", row)) == 7 for row in rows)


# ------------------------------------------------------------------------------- the command line


def test_check_ends_with_two_where_a_setting_loses_history_and_says_what_to_set(file, capsys):
    path = file({"name": "inventory", "config": {**GOOD_POSTGRESQL, "skipped.operations": "t"}})
    assert cli.main(["check", str(path)]) == 2
    first, last = capsys.readouterr().out.splitlines()
    assert first == (
        f"{path}: loses: skipped.operations = t: TRUNCATE is not sent: the rows that it removed "
        "stay current for ever; set skipped.operations=none"
    )
    assert last == (f"{path}: not ok: postgresql connector 'inventory': loses 1, blurs 0, note 0")


def test_check_succeeds_where_nothing_is_found_or_history_is_only_blurred(file, capsys):
    assert cli.main(["check", str(file(GOOD_POSTGRESQL))]) == 0
    assert capsys.readouterr().out.endswith(
        ": ok: postgresql connector: loses 0, blurs 0, note 0\n"
    )
    blurred = {**GOOD_POSTGRESQL, "decimal.handling.mode": "double", "snapshot.mode": "always"}
    assert cli.main(["check", str(file(blurred))]) == 0
    assert "blurs 1, note 1" in capsys.readouterr().out


def test_check_tells_configurations_from_source_files_by_name_and_first_sign(file, capsys):
    source = file('connector = "mysql"\n[kafka]\ntopic_prefix = "p"\n', "good.toml")
    named = file(GOOD_POSTGRESQL, "named.JSON")
    bare = file("\ufeff\n " + json.dumps(GOOD_POSTGRESQL), "bare")
    assert cli.main(["check", str(source), str(named), str(bare)]) == 0
    printed = capsys.readouterr().out.splitlines()
    assert [line.partition(": ok: ")[2].split()[0] for line in printed] == [
        "source",
        "postgresql",
        "postgresql",
    ]
    braces = file("{}", "braces.toml")
    assert cli.main(["check", str(braces)]) == 2
    assert "not valid TOML" in capsys.readouterr().err


def test_check_goes_on_after_a_file_that_is_wrong(file, tmp_path, capsys):
    good = file(GOOD_POSTGRESQL)
    assert cli.main(["check", str(tmp_path / "none.json"), str(tmp_path / "none"), str(good)]) == 2
    printed = capsys.readouterr()
    assert "none.json: cannot be read" in printed.err
    assert "none: cannot be read" in printed.err
    assert f"{good}: ok" in printed.out


@pytest.mark.parametrize("example", ["postgres-inventory", "mariadb-inventory"])
def test_the_recorded_connectors_lose_nothing_but_nulls_of_columns_with_a_default(example, file):
    text = (EXAMPLES_OF_USE / example / "README.md").read_text(encoding="utf-8")
    recorded = re.search(r"```json\n(.*?)```", text, re.DOTALL)
    findings = advice.findings(advice.read(file(recorded[1])))
    assert [f.setting for f in findings if f.severity is Severity.LOSES] == [
        "value.converter.replace.null.with.default"
    ]
