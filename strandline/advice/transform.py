"""Rules: what transformations do to change events on their way.

Sources: docs/facts/envelopes.md, "Flattened records", "Other transformations" and "Settings that
drop records silently"; Debezium's and Kafka Connect's documentation of the transformations.
Strandline reads Debezium's envelope as it is: most remedies are to do without.
"""

from strandline.advice.conditions import (
    TRANSFORMS,
    Condition,
    Contains,
    Filtered,
    Given,
    Is,
    IsNot,
    Lacks,
    Missing,
    Named,
    Part,
    Where,
)
from strandline.advice.configuration import Family
from strandline.advice.finding import Severity
from strandline.advice.rule import BINLOG, DDL, SLOT, TRUNCATING, Rule

_DEBEZIUM = "io.debezium.transforms."
_KAFKA = "org.apache.kafka.connect.transforms."
_PREDICATES = f"{_KAFKA}predicates."
_YUGABYTEDB = "io.debezium.connector.yugabytedb.transforms."
_YUGABYTEDB_SLOT = "io.debezium.connector.postgresql.transforms."

FLATTEN = (
    f"{_DEBEZIUM}ExtractNewRecordState",
    f"{_DEBEZIUM}UnwrapFromEnvelope",
    f"{_YUGABYTEDB}YBExtractNewRecordState",
    f"{_YUGABYTEDB_SLOT}YBExtractNewRecordState",
    f"{_YUGABYTEDB_SLOT}yugabytedb.YBExtractNewRecordState",
)
FLATTENING = "the flattening transformation"
_OUTBOX = f"{_DEBEZIUM}outbox.EventRouter"
_MODE = "delete.tombstone.handling.mode"
_LEGACY = "delete.handling.mode"
_ENVELOPE = "remove the transformation: Strandline reads the envelope"


def _flatten(option: Condition) -> Part:
    return Part(TRANSFORMS, FLATTEN, option, FLATTENING, whole=False)


def _transform(*names: str, option: Condition | None = None) -> Part:
    return Part(TRANSFORMS, names, option)


# What a flattened record needs of `source` to be recognised as a re-delivery and put in time; a
# name without `source.` means the same, but for the times, of which the envelope has its own.
_TIME = ("source.ts_us", "source.ts_ms")
_FIELDS: tuple[tuple[tuple[Family, ...], tuple[str, ...]], ...] = (
    (SLOT, ("lsn", "sequence", "txId")),
    (BINLOG, ("file", "pos", "row")),
    ((Family.SQLSERVER,), ("commit_lsn", "change_lsn", "event_serial_no")),
    ((Family.DB2,), ("commit_lsn", "change_lsn")),
    ((Family.ORACLE,), ("scn", "commit_scn", "txId")),
    ((Family.YUGABYTEDB,), ("lsn", "commit_time", "txId")),
)


def _without_position(families: tuple[Family, ...], names: tuple[str, ...]) -> Rule:
    position = tuple((f"source.{name}", name) for name in names)
    wanted = (("op",), _TIME, ("source.snapshot", "snapshot"), *position)
    fields = ",".join(spellings[0] for spellings in wanted)
    return Rule(
        f"flattened-without-source-{families[0]}",
        Severity.BLURS,
        _flatten(Lacks("add.fields", wanted)),
        "the record does not say what happened, where in the log, and when: times are Kafka's, and "
        "what arrives twice is not recognised",
        f"set add.fields={fields}",
        families,
    )


TRANSFORM: tuple[Rule, ...] = (
    Rule(
        "flattened-truncates",
        Severity.LOSES,
        Part(TRANSFORMS, FLATTEN, whole=False),
        "TRUNCATE is dropped in every mode: the rows that it removed stay current for ever",
        _ENVELOPE,
        (*TRUNCATING, Family.YUGABYTEDB),
    ),
    Rule(
        "flattened-deletes-dropped",
        Severity.LOSES,
        _flatten(Is(_MODE, ("drop",))),
        "deletes are dropped: deleted rows stay current for ever",
        f"set {_MODE}=rewrite, or remove the transformation",
    ),
    Rule(
        "flattened-deletes-dropped-before-3",
        Severity.LOSES,
        _flatten(
            Where(
                Is(_LEGACY, ("drop",), default="drop"),
                (Missing(_MODE), Is("drop.tombstones", ("true",), default="true")),
            )
        ),
        "deletes and their tombstones are dropped (newer Debezium sends a tombstone where nothing "
        "is set)",
        f"set {_MODE}=rewrite (before Debezium 2.5: {_LEGACY}=rewrite)",
    ),
    Rule(
        "flattened-deletes-without-tombstones",
        Severity.LOSES,
        Where(
            Is("tombstones.on.delete", ("false",)),
            (
                _flatten(
                    Where(
                        Is(_LEGACY, ("drop",), default="drop"),
                        (Missing(_MODE), Is("drop.tombstones", ("false",))),
                    )
                ),
            ),
        ),
        "the transformation drops the delete, and there is no tombstone in its place",
        f"set tombstones.on.delete=true, or {_MODE}=rewrite",
    ),
    Rule(
        "flattened-deletes-as-tombstones",
        Severity.BLURS,
        _flatten(Is(_MODE, ("tombstone", "delete-to-tombstone"))),
        "a delete is a tombstone only: without position, transaction or time of its own",
        f"set {_MODE}=rewrite, or remove the transformation",
    ),
    Rule(
        "flattened-deletes-as-nulls",
        Severity.BLURS,
        _flatten(Where(Is(_LEGACY, ("none",)), (Missing(_MODE),))),
        "a delete is a tombstone only: without position, transaction or time of its own",
        f"set {_LEGACY}=rewrite, or remove the transformation",
    ),
    *(_without_position(families, names) for families, names in _FIELDS),
    Rule(
        "flattened-prefix",
        Severity.BLURS,
        _flatten(IsNot("add.fields.prefix", ("__",))),
        "metadata is not recognised and becomes columns of the table",
        "remove it: the prefix is __",
    ),
    Rule(
        "flattened-fields-dropped",
        Severity.LOSES,
        _flatten(
            Named("drop.fields.*", r"drop\.fields\.(header\.name|from\.key)", r"^(?!\s*false\s*$)")
        ),
        "columns, or parts of the key, are dropped from the records: without a column of its key "
        "rows become one",
        "remove it; choose columns with column.exclude.list",
    ),
    Rule(
        "flattened-topics-by-content",
        Severity.BLURS,
        _flatten(Given("route.by.field")),
        "the value of a column chooses the topic: one row's records spread over topics, and each "
        "gets a history with gaps",
        "remove it",
    ),
    Rule(
        "flattened-nulls-replaced",
        Severity.LOSES,
        _flatten(Is("replace.null.with.default", ("true",), default="true")),
        "a NULL in a column that has a DEFAULT arrives as that default",
        "set replace.null.with.default=false here and in the converters",
    ),
    Rule(
        "yugabytedb-set-flags",
        Severity.LOSES,
        _transform(f"{_YUGABYTEDB}PGCompatible", f"{_YUGABYTEDB_SLOT}PGCompatible"),
        "a column that was not sent cannot be told from one set to NULL",
        _ENVELOPE,
        (Family.YUGABYTEDB, Family.YUGABYTEDB_SLOT),
    ),
    Rule(
        "events-filtered",
        Severity.LOSES,
        _transform(f"{_DEBEZIUM}Filter"),
        "changes for which the expression is false are dropped, so rows are wrong",
        "remove it; leave out tables with table.exclude.list",
    ),
    Rule(
        "records-filtered",
        Severity.LOSES,
        Filtered(
            (f"{_PREDICATES}RecordIsTombstone", f"{_PREDICATES}TopicNameMatches"), others=True
        ),
        "records for which the predicate is true are dropped, so rows are wrong",
        "remove it; leave out tables with table.exclude.list",
    ),
    Rule(
        "topics-filtered",
        Severity.NOTE,
        Filtered((f"{_PREDICATES}TopicNameMatches",)),
        "these topics get no records",
        "nothing to do, if they hold no table that shall have a history, nor notifications",
    ),
    Rule(
        "tombstones-filtered",
        Severity.NOTE,
        Filtered((f"{_PREDICATES}RecordIsTombstone",)),
        "tombstones are dropped; the delete before each says the same",
        "nothing to do, unless deletes are flattened or topics compacted",
    ),
    Rule(
        "records-cut",
        Severity.LOSES,
        _transform(
            f"{_DEBEZIUM}EnforceRecordSize",
            option=Is("strategy", ("truncate",), default="truncate"),
        ),
        "long values of large records are cut, and no record says so",
        "remove it; raise max.message.bytes and producer.override.max.request.size",
    ),
    Rule(
        "records-checked-in",
        Severity.BLURS,
        _transform(f"{_DEBEZIUM}EnforceRecordSize", option=Is("strategy", ("claim_check",))),
        "long values of large records are elsewhere; the history holds a reference to them",
        "keep that store as long as the history, or raise max.message.bytes",
    ),
    Rule(
        "outbox",
        Severity.LOSES,
        _transform(_OUTBOX, option=Where(Given("type"), (Missing("predicate"),))),
        "the records are messages, not changes of rows: there is nothing to make history of",
        "use a connector of its own for the outbox, or a predicate for its topic",
    ),
    Rule(
        "outbox-of-some-topics",
        Severity.NOTE,
        _transform(_OUTBOX, option=Given("predicate")),
        "the records that the predicate chooses are messages, not changes of rows: they make no "
        "history",
        "nothing to do, if it chooses the outbox only",
    ),
    Rule(
        "envelope-extracted",
        Severity.LOSES,
        _transform(
            *(f"{_KAFKA}{name}$Value" for name in ("ExtractField", "Flatten", "HoistField"))
        ),
        "the envelope is gone, and with it deletes, positions and times",
        _ENVELOPE,
    ),
    Rule(
        "key-extracted",
        Severity.LOSES,
        _transform(f"{_KAFKA}ExtractField$Key"),
        "keys no longer name the columns that they hold: every record goes to quarantine",
        "remove it",
    ),
    Rule(
        "key-masked",
        Severity.LOSES,
        _transform(f"{_KAFKA}MaskField$Key"),
        "rows that differ in the masked columns only become one row",
        "remove it; never mask a column of a key",
    ),
    Rule(
        "key-altered",
        Severity.BLURS,
        _transform(
            f"{_KAFKA}ValueToKey",
            *(f"{_KAFKA}{name}$Key" for name in ("ReplaceField", "InsertField", "Cast")),
            *(f"{_KAFKA}{name}$Key" for name in ("TimestampConverter", "HoistField", "Flatten")),
        ),
        "the record's key is no longer what the connector moves rows by: key moves have no partner",
        "use message.key.columns",
    ),
    Rule(
        "fields-altered",
        Severity.BLURS,
        _transform(
            *(f"{_KAFKA}{name}$Value" for name in ("ReplaceField", "MaskField", "Cast")),
            f"{_KAFKA}TimestampConverter$Value",
        ),
        "fields are dropped, renamed or changed after the connector described them",
        "remove it; choose columns with column.exclude.list",
    ),
    Rule(
        "fields-moved-to-headers",
        Severity.LOSES,
        _transform(
            f"{_KAFKA}HeaderFrom$Value",
            f"{_KAFKA}HeaderFrom$Key",
            option=Is("operation", ("move",)),
        ),
        "what it moves is missing from the record: without a part of its envelope it goes to "
        "quarantine, without a column of its key rows become one",
        "set operation=copy",
    ),
    Rule(
        "times-shifted",
        Severity.BLURS,
        _transform(f"{_DEBEZIUM}TimezoneConverter"),
        "times without a zone are moved to another one: the history differs from the table",
        "remove it; convert when you query",
    ),
    Rule(
        "move-headers-dropped",
        Severity.BLURS,
        _transform(
            f"{_KAFKA}DropHeaders",
            option=Contains("headers", ("__debezium.newkey", "__debezium.oldkey")),
        ),
        "a row whose key changes ends under the old key and begins anew under the new one",
        "leave __debezium.newkey and __debezium.oldkey alone",
    ),
    Rule(
        "partitions-by-value",
        Severity.BLURS,
        _transform(f"{_DEBEZIUM}partitions.PartitionRouting"),
        "one key's records spread over partitions, tombstones and truncates go elsewhere: only "
        "positions tell the order, not arrival",
        "remove it: Kafka's default keeps a key in one partition",
    ),
    Rule(
        "reads-as-inserts",
        Severity.NOTE,
        _transform(
            "io.debezium.connector.mysql.transforms.ReadToInsertEvent",
            f"{_DEBEZIUM}ReadToInsertEvent",
        ),
        "snapshot reads say op c; Strandline knows them by source.snapshot",
        "nothing to do",
    ),
    Rule(
        "schema-changes-filtered",
        Severity.NOTE,
        _transform(f"{_DEBEZIUM}SchemaChangeEventFilter"),
        "the schema history of the tables has gaps",
        "remove it",
        DDL,
    ),
    Rule(
        "fields-added",
        Severity.NOTE,
        _transform(f"{_KAFKA}InsertField$Value"),
        "a field that it adds beside the envelope is not read; in a flat record it is a column",
        "nothing to do, if that is meant",
    ),
    Rule(
        "schemas-renamed",
        Severity.BLURS,
        _transform(f"{_KAFKA}SetSchemaMetadata$Value"),
        "whether a record is an envelope or flattened is told by the name of its schema, which is "
        "another one now",
        "remove it, or write `flattened` into the source file",
    ),
)
