"""Rules: which topic a table has, and which tables share one.

Sources: docs/facts/envelopes.md, "Names of topics" and "Other transformations"; docs/sources.md,
"What holds for all of them"; the documentation of the routers.
"""

from strandline.advice.conditions import (
    TRANSFORMS,
    Is,
    IsClass,
    IsNot,
    Lacks,
    Named,
    Part,
    SharedTopic,
    Where,
)
from strandline.advice.configuration import Family
from strandline.advice.finding import Severity
from strandline.advice.rule import BINLOG, DEBEZIUM_2, Rule
from strandline.advice.transform import FLATTEN, FLATTENING

_DEBEZIUM = "io.debezium.transforms."
_KAFKA = "org.apache.kafka.connect.transforms."
_STRATEGY = "topic.naming.strategy"
_NAMING = "io.debezium.schema."
_BY_DATABASE = tuple(
    f"{_NAMING}Default{kind}TopicNamingStrategy" for kind in ("", "Regex", "Unicode")
)
_BY_SCHEMA = tuple(f"{_NAMING}Schema{kind}TopicNamingStrategy" for kind in ("", "Regex", "Unicode"))
_MERGING = IsClass(
    _STRATEGY,
    (f"{_NAMING}DefaultRegexTopicNamingStrategy", f"{_NAMING}SchemaRegexTopicNamingStrategy"),
)
_SCHEMAS = tuple(family for family in DEBEZIUM_2 if family not in BINLOG)
_ROUTER = f"{_DEBEZIUM}ByLogicalTableRouter"
_HELD = "a topic with rows of two tables is held, and nothing of it reaches a history"
_ONE_TABLE = (
    "write `one_table = true` for the topic into the source file, if they are parts of one table "
    "that have no key twice"
)
_FIELD = "__dbz__physicalTableIdentifier"
_FIELD_UNKNOWN = (
    "the field that the key gets is not known as such: a row whose key changes ends under the "
    "old key and begins anew under the new one, and neither servers nor tables that share the "
    "topic are told apart"
)


def _flattened_and_routed(name: str, families: tuple[Family, ...], fields: tuple[str, ...]) -> Rule:
    lacking = Lacks("add.fields", tuple((f"source.{field}", field) for field in fields))
    return Rule(
        name,
        Severity.BLURS,
        Where(
            Part(TRANSFORMS, FLATTEN, lacking, FLATTENING, whole=False),
            (Part(TRANSFORMS, (f"{_KAFKA}RegexRouter", _ROUTER)),),
        ),
        "flattened records do not say which table they are of: where a router sends those of two "
        "to one topic, rows with one key become one, and no table is held",
        f"add {', '.join(f'source.{field}' for field in fields)} to add.fields",
        families,
    )


ROUTE: tuple[Rule, ...] = (
    Rule(
        "tables-named-alike",
        Severity.LOSES,
        SharedTopic(),
        f"names of topics keep letters, digits, `.`, `_` and `-` only, so these tables share one: "
        f"{_HELD}",
        f"set {_STRATEGY}={_NAMING}SchemaUnicodeTopicNamingStrategy (MySQL, MariaDB: "
        "DefaultUnicodeTopicNamingStrategy), which spells such characters out, and `_` too; or "
        f"{_ONE_TABLE}",
    ),
    Rule(
        "tables-routed-together",
        Severity.LOSES,
        SharedTopic(routed=True),
        f"these tables are sent to one topic, and nothing in their keys tells them apart: {_HELD}",
        f"keep what tells them apart in the topic by a group of the pattern; or {_ONE_TABLE}",
    ),
    Rule(
        "schemas-merged",
        Severity.BLURS,
        IsClass(_STRATEGY, _BY_DATABASE),
        "topics lack the name of the schema, so tables that have one name in two schemas share "
        f"one: {_HELD}",
        f"set {_STRATEGY}={_NAMING}SchemaTopicNamingStrategy",
        _SCHEMAS,
    ),
    Rule(
        "databases-merged",
        Severity.BLURS,
        IsClass(_STRATEGY, _BY_SCHEMA),
        "topics lack the name of the database, so tables that have one name in two databases share "
        f"one: {_HELD}",
        f"set {_STRATEGY}={_NAMING}DefaultTopicNamingStrategy",
        BINLOG,
    ),
    Rule(
        "topics-of-your-own",
        Severity.UNJUDGED,
        IsClass(_STRATEGY, (*_BY_DATABASE, *_BY_SCHEMA), other=True),
        f"code that is not Debezium's names the topics; where it names one for two tables, {_HELD}",
        f"remove it, or see that it never does; where it does on purpose, {_ONE_TABLE}",
        DEBEZIUM_2,
    ),
    Rule(
        "tables-merged-by-naming",
        Severity.NOTE,
        _MERGING,
        f"several tables share a topic and a history; the key gets the field {_FIELD}, and a "
        "truncate closes the rows of its own table only",
        "name the merged topic in the source file",
        DEBEZIUM_2,
    ),
    Rule(
        "tables-merged-by-naming-and-key",
        Severity.BLURS,
        Where(Is("topic.key.enforce.uniqueness", ("false",)), (_MERGING,)),
        f"nothing in the keys tells the merged tables apart: {_HELD}",
        f"remove it; or {_ONE_TABLE}",
        DEBEZIUM_2,
    ),
    Rule(
        "tables-merged-by-naming-and-another-field",
        Severity.BLURS,
        Where(IsNot("topic.key.field.name", (_FIELD,)), (_MERGING,)),
        _FIELD_UNKNOWN,
        f"remove it: the field is called {_FIELD}",
        DEBEZIUM_2,
    ),
    Rule(
        "tables-merged",
        Severity.NOTE,
        Part(TRANSFORMS, (_ROUTER,)),
        f"several tables share a topic and a history; the key gets the field {_FIELD}, and a "
        "truncate closes the rows of its own table only",
        "name the merged topic in the source file",
    ),
    Rule(
        "tables-merged-by-key",
        Severity.BLURS,
        Part(TRANSFORMS, (_ROUTER,), Is("key.enforce.uniqueness", ("false",))),
        f"nothing in the keys tells the merged tables apart: {_HELD}",
        f"remove it; or {_ONE_TABLE}",
    ),
    Rule(
        "tables-merged-by-another-field",
        Severity.BLURS,
        Part(TRANSFORMS, (_ROUTER,), IsNot("key.field.name", (_FIELD,))),
        _FIELD_UNKNOWN,
        f"remove it: the field is called {_FIELD}",
    ),
    Rule(
        "topics-by-content",
        Severity.BLURS,
        Part(TRANSFORMS, (f"{_DEBEZIUM}ContentBasedRouter", f"{_KAFKA}TimestampRouter")),
        "one row's records spread over topics: each gets a history with gaps, and a topic that "
        "gets rows of two tables is held",
        "remove it",
    ),
    Rule(
        "topics-merged",
        Severity.BLURS,
        Part(
            TRANSFORMS,
            (f"{_KAFKA}RegexRouter",),
            Named("replacement", "replacement", r"^[^$]*$", "without `$1`"),
        ),
        f"all that matches goes into one topic: {_HELD}",
        "keep the table's name in the topic by a group, or merge with ByLogicalTableRouter, which "
        f"tells tables apart; or {_ONE_TABLE}",
    ),
    Rule(
        "chunks-merged",
        Severity.BLURS,
        Part(
            TRANSFORMS,
            ("io.debezium.connector.postgresql.transforms.timescaledb.TimescaleDb",),
        ),
        "the chunks of a hypertable come in one topic, whose prefix is `target.topic.prefix`; rows "
        "of chunks that are dropped, as by a retention policy, stay current",
        "write `[[table]]` with that topic and `one_table = true` into the source file; delete "
        "rows instead of dropping chunks",
        (Family.POSTGRESQL,),
    ),
    Rule(
        "topics-renamed",
        Severity.NOTE,
        Part(TRANSFORMS, (f"{_KAFKA}RegexRouter",)),
        "topics do not have the names that the connector gives them, and tables whose names differ "
        f"only in what the replacement leaves out share one: {_HELD}",
        "name them in the source file, and keep schema and table in the topic by groups",
    ),
    *(
        _flattened_and_routed(name, families, fields)
        for name, families, fields in (
            ("flattened-and-routed", _SCHEMAS, ("db", "schema", "table")),
            ("flattened-and-routed-mysql", BINLOG, ("db", "table")),
        )
    ),
)
