"""Rules: how records are written to Kafka, and what is told besides rows.

Sources: docs/facts/envelopes.md; docs/facts/kafka.md; docs/facts/snapshots.md, "The end of a
snapshot"; Kafka Connect's documentation of JsonConverter, topic creation and client overrides.
"""

from strandline.advice.conditions import (
    Above,
    Given,
    Is,
    IsClass,
    IsNot,
    IsNotMadeOf,
    Missing,
    Named,
    Where,
)
from strandline.advice.finding import Severity
from strandline.advice.mode import JSON, VALUES_ARE_JSON
from strandline.advice.rule import DDL, DEBEZIUM_2, Rule

_CONFLUENT = (
    "io.confluent.connect.avro.AvroConverter",
    "io.confluent.connect.json.JsonSchemaConverter",
)
_ASKED = (*_CONFLUENT, "io.apicurio.registry.utils.converter.AvroConverter")
_GLUE = ("com.amazonaws.services.schemaregistry.kafkaconnect.AWSKafkaAvroConverter",)
_BY_REGISTRY = (*_ASKED, *_GLUE)
_LOOKED_UP = "landing has to look up the schemas, or every record goes to quarantine"
_NAME_IT = "name the registry's Airflow connection in `[registry]` of the source file"
_NOT_ASKED = (
    "landing does not ask AWS Glue for schemas: every record goes to quarantine; captures are read "
    "with `strandline history --schemas`"
)
_SIMPLE_HEADERS = "org.apache.kafka.connect.storage.SimpleHeaderConverter"

DELIVERY: tuple[Rule, ...] = (
    Rule(
        "nulls-replaced",
        Severity.LOSES,
        Where(
            Is("value.converter.replace.null.with.default", ("true",), default="true"),
            (VALUES_ARE_JSON,),
        ),
        "a NULL in a column that has a DEFAULT arrives as that default",
        "set value.converter.replace.null.with.default=false (Kafka Connect 3.5 or newer)",
    ),
    Rule(
        "values-not-json",
        Severity.LOSES,
        IsClass("value.converter", (JSON, *_BY_REGISTRY), other=True),
        "Strandline reads JSON, and Avro by the schemas of a registry: every record goes to "
        "quarantine",
        f"set value.converter={JSON}",
    ),
    Rule(
        "values-by-registry",
        Severity.NOTE,
        IsClass("value.converter", _ASKED),
        _LOOKED_UP,
        _NAME_IT,
    ),
    Rule(
        "values-by-glue",
        Severity.LOSES,
        IsClass("value.converter", _GLUE),
        _NOT_ASKED,
        f"set value.converter={JSON}",
    ),
    Rule(
        "nulls-replaced-by-registry",
        Severity.LOSES,
        Where(
            Is("value.converter.ignore.default.for.nullables", ("false",), default="false"),
            (IsClass("value.converter", _CONFLUENT),),
        ),
        "a NULL in a column that has a DEFAULT arrives as that default",
        "set value.converter.ignore.default.for.nullables=true",
    ),
    Rule(
        "types-without-names",
        Severity.BLURS,
        Where(
            Is("value.converter.connect.meta.data", ("false",)),
            (IsClass("value.converter", _CONFLUENT),),
        ),
        "schemas do not say which numbers are times, dates or years: the history has the numbers",
        "remove it",
    ),
    Rule(
        "keys-not-json",
        Severity.LOSES,
        IsClass("key.converter", (JSON, *_BY_REGISTRY), other=True),
        "Strandline reads keys as JSON, or as Avro by the schemas of a registry: every record goes "
        "to quarantine",
        f"set key.converter={JSON}",
    ),
    Rule(
        "keys-by-registry",
        Severity.NOTE,
        IsClass("key.converter", _ASKED),
        _LOOKED_UP,
        _NAME_IT,
    ),
    Rule(
        "keys-by-glue",
        Severity.LOSES,
        IsClass("key.converter", _GLUE),
        _NOT_ASKED,
        f"set key.converter={JSON}",
    ),
    Rule(
        "converters-of-the-worker",
        Severity.NOTE,
        Missing("value.converter"),
        "the worker's converters are used, and their settings are not shown here",
        f"set value.converter={JSON} and value.converter.replace.null.with.default=false",
    ),
    Rule(
        "key-converter-of-the-worker",
        Severity.NOTE,
        Where(Missing("key.converter"), (Given("value.converter"),)),
        "the worker's converter is used, and its settings are not shown here",
        f"set key.converter={JSON}",
    ),
    Rule(
        "headers-not-json",
        Severity.BLURS,
        IsClass("header.converter", (_SIMPLE_HEADERS, JSON), other=True),
        "the other key of a key move cannot be read: the row ends under one key and begins anew "
        "under the other",
        "remove it, or set it to JsonConverter",
    ),
    Rule(
        "topics-compacted",
        Severity.LOSES,
        Named(
            "topic.creation.<group>.cleanup.policy",
            r"topic\.creation\..+\.cleanup\.policy",
            r"\bcompact\b",
            "has `compact`",
        ),
        "Kafka removes all but a key's last change before they are landed, and refuses a truncate, "
        "which has no key",
        "set it to delete",
    ),
    Rule(
        "topics-retention",
        Severity.NOTE,
        Named(
            "topic.creation.<group>.retention.ms",
            r"topic\.creation\..+\.retention\.(ms|bytes)",
            r"^\s*\d",
            "a limit",
        ),
        "what has not been landed by then is gone",
        "keep it well above the longest time that landing may stand still",
    ),
    Rule(
        "writes-unacknowledged",
        Severity.LOSES,
        Is("producer.override.acks", ("0", "1")),
        "records that a broker took and did not copy are lost with it",
        "set producer.override.acks=all",
    ),
    Rule(
        "writes-overtaking",
        Severity.BLURS,
        Where(
            Above("producer.override.max.in.flight.requests.per.connection", 1),
            (Is("producer.override.enable.idempotence", ("false",), default="false"),),
        ),
        "a batch sent again may stand after a later one: a key's changes arrive out of order",
        "set it to 1, or set producer.override.enable.idempotence=true",
    ),
    Rule(
        "partitions-without-keys",
        Severity.BLURS,
        Named(
            "producer.override.partitioner.*",
            r"producer\.override\.partitioner\.(class|ignore\.keys)",
            r"^(?!\s*false\s*$)(?!.*\.DefaultPartitioner\s*$)",
            "a class of your own, or `true`",
        ),
        "one key's records spread over partitions: only positions tell the order, not arrival",
        "remove it: Kafka's default keeps a key in one partition",
    ),
    Rule(
        "no-tombstones",
        Severity.NOTE,
        Is("tombstones.on.delete", ("false",)),
        "a delete has no tombstone; the delete itself says the same",
        "nothing to do, unless deletes are flattened or topics compacted",
    ),
    Rule(
        "no-notifications",
        Severity.NOTE,
        Missing("notification.enabled.channels"),
        "nothing says that a snapshot is complete: a row deleted while the connector was away "
        "stays current",
        "set notification.enabled.channels=sink, and notification.sink.topic.name to "
        "`<topic.prefix>.notifications`",
        DEBEZIUM_2,
    ),
    Rule(
        "notifications-elsewhere",
        Severity.NOTE,
        Named(
            "notification.enabled.channels",
            r"notification\.enabled\.channels",
            r"^(?!.*\bsink\b)",
            "lacks `sink`",
        ),
        "notifications do not reach Kafka, so nothing says that a snapshot is complete: a row "
        "deleted while the connector was away stays current",
        "add sink, and set notification.sink.topic.name to `<topic.prefix>.notifications`",
        DEBEZIUM_2,
    ),
    Rule(
        "notifications-by-another-name",
        Severity.NOTE,
        IsNotMadeOf("notification.sink.topic.name", "topic.prefix", "{}.notifications"),
        "nobody reads that topic, or it is taken for a table's: no snapshot is known to be "
        "complete, and a row deleted while the connector was away stays current",
        "name the topic in `control_topics` of the source file",
        DEBEZIUM_2,
    ),
    Rule(
        "no-transactions",
        Severity.NOTE,
        Is("provide.transaction.metadata", ("false",), default="false"),
        "a publication of several tables cannot be cut where a transaction ends",
        "set provide.transaction.metadata=true",
    ),
    Rule(
        "no-context-headers",
        Severity.NOTE,
        Is("extended.headers.enabled", ("false",)),
        "a restart of the connector does not show, which helps to tell a repeated change from a "
        "genuine one where positions are shared",
        "set extended.headers.enabled=true",
        DEBEZIUM_2,
    ),
    Rule(
        "no-schema-topic",
        Severity.NOTE,
        Is("include.schema.changes", ("false",)),
        "DDL does not arrive: there is no schema history to decode records without schema",
        "set include.schema.changes=true",
        DDL,
    ),
    Rule(
        "topics-by-another-delimiter",
        Severity.NOTE,
        IsNot("topic.delimiter", (".",)),
        "no topic begins with `<topic.prefix>.`, by which the tables of a source are found: none "
        "is landed",
        "remove it, or name each topic in the source file",
    ),
    Rule(
        "control-topics",
        Severity.NOTE,
        Named(
            "heartbeat.topics.prefix, topic.heartbeat.prefix, topic.transaction, transaction.topic",
            r"heartbeat\.topics\.prefix|topic\.heartbeat\.prefix|topic\.transaction"
            r"|transaction\.topic",
        ),
        "such a topic may look like a table's, whose records then go to quarantine",
        "name it in `control_topics` of the source file",
    ),
)
