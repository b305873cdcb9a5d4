"""Settings of connectors that lose history, and the same put right: an example for each rule."""

from dataclasses import dataclass, field

from strandline.advice import RULES

BY_ID = {rule.id: rule for rule in RULES}
JSON = "org.apache.kafka.connect.json.JsonConverter"
GLUE = "com.amazonaws.services.schemaregistry.kafkaconnect.AWSKafkaAvroConverter"
AVRO = "io.confluent.connect.avro.AvroConverter"
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


def routed(replacement):
    return smt("RegexRouter", regex="[^.]*[.]([^.]+)[.]([^.]+)", replacement=replacement)


ROUTER = {"transforms": "x, y", "transforms.y.type": f"{KAFKA}RegexRouter"}
NAMING = "topic.naming.strategy"
STRATEGIES = "io.debezium.schema."
BASED = "snapshot.mode.configuration.based"
BY_CONFIGURATION = {"snapshot.mode": "configuration_based"}
IDENTITIES = "replica.identity.autoset.values"
POSITIONS = {
    "postgresql": "op,source.ts_us,source.snapshot,source.lsn,source.sequence,source.txId",
    "mysql": "op,source.ts_ms,snapshot,file,pos,row",
    "sqlserver": "op,source.ts_ms,snapshot,commit_lsn,change_lsn,event_serial_no",
    "db2": "op,source.ts_us,source.snapshot,source.commit_lsn,source.change_lsn",
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
    "replica-identity-index-as-key": plain(
        IDENTITIES, "public.a:INDEX a_key", "public.a:FULL", message_key_columns="public.a:code"
    ),
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
    "gtid-channel-from-its-end": plain("gtid.new.channel.position", "latest", "earliest"),
    "offset-moved-to-slot": plain("offset.mismatch.strategy", "trust_slot", "trust_offset"),
    "slot-confirmed-by-driver": plain("lsn.flush.mode", "connector_and_driver", "connector"),
    "new-tables-left-out": plain("auto.add.new.tables", "false", "true"),
    "lobs": default("lob.enabled", "false", "true"),
    "long-transactions": plain("log.mining.transaction.retention.ms", "3600000", "0"),
    "large-transactions": plain("log.mining.buffer.transaction.events.threshold", "5000", "0"),
    "users-left-out": plain("log.mining.username.exclude.list", "BATCH"),
    "transactions-at-snapshot": default(
        "internal.log.mining.transaction.snapshot.boundary.mode", "skip", "all"
    ),
    "archive-logs-limited": plain("log.mining.archive.log.hours", "24", "0"),
    "mining-without-ddl": default("log.mining.strategy", "online_catalog", "hybrid"),
    "ddl-of-users-left-out": plain("log.mining.schema_changes.username.exclude.list", "APP"),
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
    "gap-bridged-configured": Example(
        f"{BASED}.snapshot.on.data.error",
        "true",
        {f"{BASED}.snapshot.on.data.error": "true", **BY_CONFIGURATION},
        {f"{BASED}.snapshot.on.data.error": "true"},
    ),
    "recovery-configured": Example(
        f"{BASED}.snapshot.on.schema.error",
        "true",
        {f"{BASED}.snapshot.on.schema.error": "true", **BY_CONFIGURATION},
        {f"{BASED}.snapshot.on.schema.error": "true"},
    ),
    "custom-snapshot-query": plain("snapshot.query.mode", "custom", "select_all"),
    "custom-snapshot-locks": plain("snapshot.locking.mode", "custom", "none"),
    "recovery": plain("snapshot.mode", "recovery", "initial"),
    "gap-bridged": plain("snapshot.mode", "when_needed", "initial"),
    "snapshot-at-every-start": plain("snapshot.mode", "always", "initial"),
    "custom-snapshot": plain("snapshot.mode", "custom", "initial"),
    "snapshot-filtered": plain("snapshot.select.statement.overrides", "public.a"),
    "snapshot-of-some-tables": plain("snapshot.include.collection.list", "public.a"),
    "snapshot-inconsistent": plain("snapshot.isolation.mode", "read_committed", "snapshot"),
    "snapshot-without-locks": plain("snapshot.locking.mode", "none", "minimal"),
    "snapshot-in-parallel": plain("snapshot.max.threads", "4", "1"),
    "keys-altered-in-incremental-snapshots": plain(
        "incremental.snapshot.allow.schema.changes", "true", "false"
    ),
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
    "money-rounded": plain("money.fraction.digits", "0", "2"),
    "columns-renamed": plain("field.name.adjustment.mode", "avro", "none"),
    "toast-of-dropped-columns": plain(
        "schema.refresh.mode", "columns_diff_exclude_unchanged_toast", "columns_diff"
    ),
    "source-of-your-own": plain(
        "sourceinfo.struct.maker",
        "com.example.Maker",
        "io.debezium.connector.postgresql.PostgresSourceInfoStructMaker",
    ),
    "transactions-of-your-own": plain(
        "transaction.metadata.factory",
        "com.example.Factory",
        "io.debezium.pipeline.txmetadata.DefaultTransactionMetadataFactory",
    ),
    "old-source": plain("source.struct.version", "v1", "v2"),
    "processing-as-time": plain("source.timestamp.mode", "processing", "commit"),
    "updates-in-one-row": plain("db2.platform", "ZOS", "LUW"),
    "times-that-wrap": default("time.precision.mode", "adaptive", "microseconds"),
    "times-that-wrap-unseen": default("time.precision.mode", "adaptive", "microseconds"),
    "times-in-nanoseconds": plain("time.precision.mode", "nanoseconds", "adaptive"),
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
    "flattened-fields-dropped": Example(
        "transforms.x.drop.fields.from.key",
        "true",
        flat(drop_fields_from_key="true"),
        flat(drop_fields_from_key="false"),
    ),
    "flattened-topics-by-content": Example(
        "transforms.x.route.by.field", "kind", flat(route_by_field="kind"), flat()
    ),
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
    "tables-named-alike": Example(
        "table.include.list",
        "shop.订单, shop.客户 (topic srv.shop.__)",
        {"topic.prefix": "srv", "table.include.list": "shop.订单,shop.客户"},
        {"topic.prefix": "srv", "table.include.list": "shop.订单,shop.客户们"},
    ),
    "tables-routed-together": Example(
        "table.include.list",
        "shop.a, store.a (topic a)",
        {"table.include.list": "shop.a,shop.b,store.a", **routed("$2")},
        {"table.include.list": "shop.a,shop.b,store.b", **routed("$1.$2")},
    ),
    "schemas-merged": plain(
        NAMING,
        f"{STRATEGIES}DefaultTopicNamingStrategy",
        f"{STRATEGIES}SchemaTopicNamingStrategy",
    ),
    "databases-merged": plain(
        NAMING,
        f"{STRATEGIES}SchemaTopicNamingStrategy",
        f"{STRATEGIES}DefaultTopicNamingStrategy",
    ),
    "topics-of-your-own": plain(
        NAMING, "com.example.Naming", f"{STRATEGIES}SchemaTopicNamingStrategy"
    ),
    "tables-merged-by-naming": plain(
        NAMING,
        f"{STRATEGIES}DefaultRegexTopicNamingStrategy",
        f"{STRATEGIES}DefaultTopicNamingStrategy",
    ),
    "tables-merged-by-naming-and-key": Example(
        "topic.key.enforce.uniqueness",
        "false",
        {NAMING: "SchemaRegexTopicNamingStrategy", "topic.key.enforce.uniqueness": "false"},
        {"topic.key.enforce.uniqueness": "false"},
    ),
    "tables-merged-by-naming-and-another-field": Example(
        "topic.key.field.name",
        "shard",
        {NAMING: "SchemaRegexTopicNamingStrategy", "topic.key.field.name": "shard"},
        {NAMING: "SchemaRegexTopicNamingStrategy"},
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
    "chunks-merged": type_of("io.debezium.connector.postgresql.transforms.timescaledb.TimescaleDb"),
    "fields-added": type_of(f"{KAFKA}InsertField$Value"),
    "schemas-renamed": type_of(f"{KAFKA}SetSchemaMetadata$Value"),
    "topics-renamed": type_of("RegexRouter"),
    "flattened-and-routed": Example(
        "transforms.x.add.fields",
        "op,source.table",
        {**flat(add_fields="op,source.table"), **ROUTER},
        {**flat(add_fields="op,db,schema,source.table"), **ROUTER},
    ),
    "flattened-and-routed-mysql": Example(
        "transforms.x.add.fields",
        "op",
        {**flat(add_fields="op"), **ROUTER},
        {**flat(add_fields="op,source.db,source.table"), **ROUTER},
    ),
    "reads-as-inserts": type_of("io.debezium.connector.mysql.transforms.ReadToInsertEvent"),
    "schema-changes-filtered": type_of(f"{SMT}SchemaChangeEventFilter"),
    "nulls-replaced": default(
        "value.converter.replace.null.with.default", "true", "false", value_converter=JSON
    ),
    "values-not-json": plain(
        "value.converter", "io.confluent.connect.protobuf.ProtobufConverter", JSON
    ),
    "values-by-registry": plain("value.converter", AVRO, JSON),
    "keys-by-registry": plain("key.converter", AVRO, JSON),
    "values-by-glue": plain("value.converter", GLUE, JSON),
    "keys-by-glue": plain("key.converter", GLUE, JSON),
    "nulls-replaced-by-registry": default(
        "value.converter.ignore.default.for.nullables", "false", "true", value_converter=AVRO
    ),
    "types-without-names": plain(
        "value.converter.connect.meta.data", "false", "true", value_converter=AVRO
    ),
    "keys-not-json": plain(
        "key.converter", "org.apache.kafka.connect.storage.StringConverter", "JsonConverter"
    ),
    "converters-of-the-worker": default("value.converter", None, JSON),
    "key-converter-of-the-worker": default("key.converter", None, JSON, value_converter=JSON),
    "values-without-schema": plain(
        "value.converter.schemas.enable", "false", "true", value_converter=JSON
    ),
    "binary-without-schema": plain("binary.handling.mode", "hex", "base64", **WITHOUT_SCHEMA),
    "binary-without-schema-yugabytedb": Example(
        "binary.handling.mode",
        "default (hex)",
        {"value.converter": JSON, "value.converter.schemas.enable": "false"},
        {"value.converter": JSON},
    ),
    "decimals-without-schema": plain(
        "decimal.handling.mode", "string", "precise", **WITHOUT_SCHEMA
    ),
    "decimals-without-schema-yugabytedb": default(
        "decimal.handling.mode", "double", "precise", **WITHOUT_SCHEMA
    ),
    "times-without-schema": plain("time.precision.mode", "connect", "adaptive", **WITHOUT_SCHEMA),
    "times-without-schema-mysql": plain(
        "time.precision.mode", "connect", "adaptive_time_microseconds", **WITHOUT_SCHEMA
    ),
    "unsigned-without-schema": plain(
        "bigint.unsigned.handling.mode", "precise", "long", **WITHOUT_SCHEMA
    ),
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
BEYOND = {
    "binlog-image",
    "truncates-of-yugabytedb",
    "generated-columns",
    "computed-columns",
    "times-of-reading",
    "large-objects-not-read",
    "decimal-floats-as-doubles",
    "virtual-columns",
}

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
