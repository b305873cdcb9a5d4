"""Rules: how exactly a value, a time or a position arrives.

Sources: docs/facts/types.md, which says what was seen on recorded events (NaN, intervals, ISO
strings, the time adjuster); docs/facts/positions.md, "SQL Server"; docs/facts/envelopes.md, "The
unavailable-value placeholder".
"""

from strandline.advice.condition import (
    CONVERTERS,
    POST_PROCESSORS,
    Is,
    IsNot,
    Missing,
    Named,
    Part,
    Where,
)
from strandline.advice.configuration import Family
from strandline.advice.finding import Severity
from strandline.advice.rule import BINLOG, CURRENT, DEBEZIUM_2, SLOT, Rule

_TINYINT = "io.debezium.connector.{}.converters.TinyIntOneToBooleanConverter"
_NOT_YUGABYTEDB = DEBEZIUM_2

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
