"""Rules: how exactly a value, a time or a position arrives.

Sources: docs/facts/types.md, which says what was seen on recorded events (NaN, intervals, ISO
strings, the time adjuster); docs/facts/positions.md, "SQL Server"; docs/facts/envelopes.md, "The
unavailable-value placeholder".
"""

from strandline.advice.conditions import (
    CONVERTERS,
    POST_PROCESSORS,
    Is,
    IsClass,
    IsNot,
    Missing,
    Named,
    Outside,
    Part,
    Where,
)
from strandline.advice.configuration import Family
from strandline.advice.finding import Severity
from strandline.advice.rule import BINLOG, CURRENT, DEBEZIUM_2, SLOT, Rule

_TINYINT = "io.debezium.connector.{}.converters.TinyIntOneToBooleanConverter"
_NOT_YUGABYTEDB = DEBEZIUM_2
_MAKERS = (
    "postgresql.Postgres",
    "mysql.MySql",
    "mariadb.MariaDb",
    "sqlserver.SqlServer",
    "db2.Db2",
    "oracle.Oracle",
)

_IN_NANOSECONDS = Is(
    "time.precision.mode",
    ("adaptive", "adaptive_time_microseconds", "nanoseconds"),
    default="adaptive",
)

VALUE: tuple[Rule, ...] = (
    Rule(
        "unconvertible-values",
        Severity.BLURS,
        IsNot("event.converting.failure.handling.mode", ("fail",), default="warn"),
        "a value that does not fit its column's type is sent as NULL",
        "set event.converting.failure.handling.mode=fail",
        CURRENT,
    ),
    Rule(
        "decimals-as-doubles",
        Severity.BLURS,
        Is("decimal.handling.mode", ("double",)),
        "decimals are rounded to 15 to 17 digits",
        "set decimal.handling.mode=precise, or string",
        _NOT_YUGABYTEDB,
    ),
    Rule(
        "decimals-as-doubles-yugabytedb",
        Severity.BLURS,
        Is("decimal.handling.mode", ("double",), default="double"),
        "decimals are rounded to 15 to 17 digits",
        "set decimal.handling.mode=string",
        (Family.YUGABYTEDB,),
    ),
    Rule(
        "numeric-nan",
        Severity.NOTE,
        Is("decimal.handling.mode", ("precise",), default="precise"),
        "NaN and infinity of numeric columns arrive as NULL",
        "set decimal.handling.mode=string, if you store them",
        (Family.POSTGRESQL,),
    ),
    Rule(
        "unsigned-bigints",
        Severity.BLURS,
        Where(
            Is("bigint.unsigned.handling.mode", ("long",), default="long"),
            (Missing("column.propagate.source.type"), Missing("datatype.propagate.source.type")),
        ),
        "BIGINT UNSIGNED values from 2^63 on arrive as negative numbers, and no record says so",
        "set bigint.unsigned.handling.mode=precise, or column.propagate.source.type=.*",
        BINLOG,
    ),
    Rule(
        "times-in-milliseconds",
        Severity.BLURS,
        Is("time.precision.mode", ("connect",)),
        "times and timestamps lose what is finer than a millisecond",
        "set time.precision.mode=adaptive (MySQL, MariaDB: adaptive_time_microseconds)",
    ),
    Rule(
        "times-as-text",
        Severity.BLURS,
        Is("time.precision.mode", ("isostring",)),
        "24:00:00 becomes 00:00:00, TIME beyond a day becomes NULL, infinities become odd dates, "
        "and local times carry a Z",
        "set time.precision.mode=adaptive (MySQL, MariaDB: adaptive_time_microseconds)",
        DEBEZIUM_2,
    ),
    Rule(
        "intervals-as-numbers",
        Severity.BLURS,
        Is("interval.handling.mode", ("numeric",), default="numeric"),
        "months and days of an interval become an average number of microseconds",
        "set interval.handling.mode=string, if you store intervals",
        (*SLOT, Family.ORACLE, Family.YUGABYTEDB),
    ),
    Rule(
        "years-of-two-digits",
        Severity.BLURS,
        Is("enable.time.adjuster", ("true",), default="true"),
        "the years 0000 to 0099 arrive as 1970 to 2069",
        "set enable.time.adjuster=false",
        BINLOG,
    ),
    Rule(
        "tinyint-as-boolean",
        Severity.BLURS,
        Part(CONVERTERS, (_TINYINT.format("binlog"), _TINYINT.format("mysql"))),
        "every TINYINT(1) other than 0 becomes true",
        "remove the converter, unless those columns hold 0 and 1 only",
        BINLOG,
    ),
    Rule(
        "binary-as-text",
        Severity.NOTE,
        Is("binary.handling.mode", ("base64", "base64-url-safe", "hex")),
        "binary columns arrive, and stay in the history, as text",
        "set binary.handling.mode=bytes, if they shall be binary",
        _NOT_YUGABYTEDB,
    ),
    Rule(
        "unknown-types",
        Severity.NOTE,
        Is("include.unknown.datatypes", ("false",), default="false"),
        "columns of types that Debezium does not know are left out",
        "set include.unknown.datatypes=true, if you have any; they arrive as bytes",
        SLOT,
    ),
    Rule(
        "columns-truncated",
        Severity.BLURS,
        Named("column.truncate.to.<length>.chars", r"column\.truncate\.to\.\d+\.chars"),
        "values are cut, and a change beyond the cut makes no version",
        "remove it; never cut a column of a key",
    ),
    Rule(
        "columns-masked",
        Severity.BLURS,
        Named("column.mask.with.<length>.chars", r"column\.mask\.with\.\d+\.chars"),
        "every value becomes the same, so no change of it makes a version",
        "mask by hash if you have to; never mask a column of a key, or all rows become one",
    ),
    Rule(
        "columns-hashed",
        Severity.BLURS,
        Named("column.mask.hash.<algorithm>.with.salt.<salt>", r"column\.mask\.hash\..+"),
        "that a value changed is kept, the value is not",
        "nothing to do, if that is meant; a new salt looks like a change of every row",
    ),
    Rule(
        "values-read-later",
        Severity.BLURS,
        Part(POST_PROCESSORS, ("io.debezium.processors.reselect.ReselectColumnsPostProcessor",)),
        "missing values are read from the database now, so a version may hold what came after it",
        "remove it: Strandline carries the last known value forward",
    ),
    Rule(
        "money-rounded",
        Severity.BLURS,
        Is("money.fraction.digits", ("0", "1")),
        "money is rounded to that many digits",
        "set money.fraction.digits=2, or what lc_monetary has",
        SLOT,
    ),
    Rule(
        "columns-renamed",
        Severity.NOTE,
        Named(
            "field.name.adjustment.mode, sanitize.field.names",
            r"field\.name\.adjustment\.mode|sanitize\.field\.names",
            r"^(?!none$|false$)",
            "anything but `none` or `false`",
        ),
        "columns may have other names in the records than in the database, and in its DDL",
        "remove it: a history holds columns of any name",
    ),
    Rule(
        "toast-of-dropped-columns",
        Severity.NOTE,
        Is("schema.refresh.mode", ("columns_diff_exclude_unchanged_toast",)),
        "a column with large values that is dropped may stay in the records for a while",
        "set schema.refresh.mode=columns_diff",
        (Family.POSTGRESQL,),
    ),
    Rule(
        "source-of-your-own",
        Severity.UNJUDGED,
        IsClass(
            "sourceinfo.struct.maker",
            tuple(f"io.debezium.connector.{name}SourceInfoStructMaker" for name in _MAKERS),
            other=True,
        ),
        "code that is not Debezium's writes `source`, by which changes are ordered and told apart",
        "remove it",
        DEBEZIUM_2,
    ),
    Rule(
        "transactions-of-your-own",
        Severity.UNJUDGED,
        IsClass(
            "transaction.metadata.factory",
            ("io.debezium.pipeline.txmetadata.DefaultTransactionMetadataFactory",),
            other=True,
        ),
        "code that is not Debezium's writes `transaction` and the topic of transactions",
        "remove it",
        DEBEZIUM_2,
    ),
    Rule(
        "old-source",
        Severity.UNJUDGED,
        Is("source.struct.version", ("v1",)),
        "`source` has its form of before Debezium 0.10, which nobody has tried",
        "set source.struct.version=v2",
    ),
    Rule(
        "processing-as-time",
        Severity.BLURS,
        Is("source.timestamp.mode", ("processing",)),
        "source.ts_ms is when the connector read the change, not when it was committed",
        "set source.timestamp.mode=commit",
        (Family.SQLSERVER,),
    ),
    Rule(
        "generated-columns",
        Severity.NOTE,
        Outside("generated columns"),
        "a snapshot reads them and the stream does not have them (PostgreSQL before 18, and since "
        "unless the publication has publish_generated_columns): the first change of a row would "
        "make them NULL",
        "name them in `never_streamed` of the table in the source file, or leave them out by "
        "column.exclude.list",
        (Family.POSTGRESQL,),
    ),
    Rule(
        "computed-columns",
        Severity.NOTE,
        Outside("computed columns"),
        "a snapshot reads them and change tables do not have them: the first change of a row would "
        "make them NULL",
        "name them in `never_streamed` of the table in the source file, or leave them out by "
        "column.exclude.list",
        (Family.SQLSERVER,),
    ),
    Rule(
        "times-of-reading",
        Severity.NOTE,
        Outside("times of commits"),
        "before Debezium 3.7 source.ts_ms is when the connector read a change, so that versions "
        "begin at Kafka's time; since, it is the commit's as long as IBMSNAP_UOW has it",
        "take Debezium 3.7 or later, and prune IBMSNAP_UOW no earlier than the change tables",
        (Family.DB2,),
    ),
    Rule(
        "large-objects-not-read",
        Severity.NOTE,
        Outside("columns of CLOB, DBCLOB or BLOB"),
        "before Debezium 3.7 they are NULL in the stream, and in a snapshot the name of an object "
        "of the driver",
        "take Debezium 3.7 or later, or leave them out by column.exclude.list",
        (Family.DB2,),
    ),
    Rule(
        "decimal-floats-as-doubles",
        Severity.NOTE,
        Outside("columns of DECFLOAT"),
        "they are rounded to 15 to 17 digits",
        "give the columns a DECIMAL, if that matters",
        (Family.DB2,),
    ),
    Rule(
        "updates-in-one-row",
        Severity.BLURS,
        Is("db2.platform", ("zos", "z")),
        "where a table is captured with CHG_UPD_TO_DEL_INS = 'N' an update does not say what the "
        "row was: one that changes the key leaves the old key current for ever",
        "register the tables with CHG_UPD_TO_DEL_INS = 'Y'",
        (Family.DB2,),
    ),
    Rule(
        "virtual-columns",
        Severity.NOTE,
        Outside("virtual columns"),
        "a snapshot may read them, and the redo log does not have them: the first change of a row "
        "would make them NULL",
        "name them in `never_streamed` of the table in the source file, or leave them out by "
        "column.exclude.list",
        (Family.ORACLE,),
    ),
    Rule(
        "times-that-wrap",
        Severity.NOTE,
        _IN_NANOSECONDS,
        "times of datetime2(7) before 1677 or after 2262, such as the end of a temporal table, "
        "9999-12-31, wrap before Debezium 3.6, which Strandline puts right, and are NULL since, "
        "unless event.converting.failure.handling.mode=fail",
        "set time.precision.mode=microseconds, or give the columns 6 digits",
        (Family.SQLSERVER,),
    ),
    Rule(
        "times-that-wrap-unseen",
        Severity.BLURS,
        _IN_NANOSECONDS,
        "times of TIMESTAMP(7) and finer before 1677 or after 2262 wrap before Debezium 3.6, and "
        "nothing shows those finer than (7) unless they are whole seconds; since, they are NULL, "
        "unless event.converting.failure.handling.mode=fail",
        "set time.precision.mode=microseconds, or give the columns 6 digits",
        (Family.DB2, Family.ORACLE),
    ),
    Rule(
        "times-in-nanoseconds",
        Severity.NOTE,
        Is("time.precision.mode", ("nanoseconds",)),
        "times before 1677 or after 2262 wrap before Debezium 3.6, which Strandline puts right but "
        "for infinities and years from 10000 on, and are NULL since, unless "
        "event.converting.failure.handling.mode=fail",
        "set time.precision.mode=microseconds",
        (*SLOT, *BINLOG),
    ),
    Rule(
        "placeholder",
        Severity.NOTE,
        Named(
            "unavailable.value.placeholder",
            r"(unavailable|toasted)\.value\.placeholder",
            r"^(?!__debezium_unavailable_value$)",
            "anything but `__debezium_unavailable_value`",
        ),
        "Strandline takes it for a value unless it is told",
        "set `placeholder` in the source file to the same text",
    ),
    Rule(
        "transaction-begin-as-time",
        Severity.BLURS,
        Is("data.query.mode", ("direct",), default="direct"),
        "since Debezium 3.6 source.ts_ms is when a transaction began, not when it committed, and "
        "change_lsn does not grow inside a transaction",
        "set data.query.mode=function (the default before 3.4)",
        (Family.SQLSERVER,),
    ),
)
