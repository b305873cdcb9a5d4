"""Rules: which changes the connector sends at all.

Sources: docs/facts/positions.md; docs/facts/envelopes.md, "Truncates" and "Settings that drop
records silently"; Debezium's and YugabyteDB's documentation of the connectors' properties and of
their limitations.
"""

from strandline.advice.condition import (
    Above,
    Contains,
    Given,
    Is,
    IsNot,
    Missing,
    Named,
    Outside,
    Where,
)
from strandline.advice.configuration import Family
from strandline.advice.finding import Severity
from strandline.advice.rule import BINLOG, DDL, DEBEZIUM_2, SLOT, TRUNCATING, Rule

_TRUNCATES_GONE = "TRUNCATE is not sent: the rows that it removed stay current for ever"
_LOGMINER = Is("database.connection.adapter", ("logminer", "logminer_unbuffered"), "logminer")

CAPTURE: tuple[Rule, ...] = (
    Rule(
        "truncates-skipped",
        Severity.LOSES,
        Contains("skipped.operations", ("t",), default="t"),
        _TRUNCATES_GONE,
        "set skipped.operations=none",
        TRUNCATING,
    ),
    Rule(
        "truncates-skipped-yugabytedb",
        Severity.LOSES,
        Contains("skipped.operations", ("t",)),
        _TRUNCATES_GONE,
        "remove it: this connector skips nothing by default",
        (Family.YUGABYTEDB,),
    ),
    Rule(
        "truncates-skipped-before-2",
        Severity.LOSES,
        Is("truncate.handling.mode", ("skip",)),
        _TRUNCATES_GONE,
        "set truncate.handling.mode=include (before Debezium 2.0), skipped.operations=none (since)",
        (Family.POSTGRESQL, Family.YUGABYTEDB),
    ),
    Rule(
        "rows-skipped",
        Severity.LOSES,
        Contains("skipped.operations", ("c", "u", "d")),
        "inserts, updates or deletes are not sent",
        "set skipped.operations=none",
    ),
    Rule(
        "errors-tolerated",
        Severity.LOSES,
        Is("errors.tolerance", ("all",)),
        "a record that a transformation or converter cannot handle is dropped",
        "set errors.tolerance=none",
    ),
    Rule(
        "failed-events-skipped",
        Severity.LOSES,
        IsNot("event.processing.failure.handling.mode", ("fail",)),
        "a change that the connector cannot process is skipped",
        "set event.processing.failure.handling.mode=fail",
    ),
    Rule(
        "unreadable-events-skipped",
        Severity.LOSES,
        IsNot("event.deserialization.failure.handling.mode", ("fail",)),
        "a binlog event that cannot be read is skipped",
        "set event.deserialization.failure.handling.mode=fail",
        BINLOG,
    ),
    Rule(
        "unknown-tables-skipped",
        Severity.LOSES,
        IsNot("inconsistent.schema.handling.mode", ("fail",)),
        "changes of a table whose schema the connector does not know are skipped",
        "set inconsistent.schema.handling.mode=fail",
        BINLOG,
    ),
    Rule(
        "exceptions-ignored",
        Severity.LOSES,
        Is("ignore.exceptions", ("true",)),
        "the connector logs an exception and goes on without what caused it",
        "set ignore.exceptions=false",
        (Family.YUGABYTEDB,),
    ),
    Rule(
        "slot-dropped",
        Severity.LOSES,
        Is("slot.drop.on.stop", ("true",)),
        "the replication slot goes when the connector stops, and with it all changes until it "
        "starts again",
        "set slot.drop.on.stop=false",
        (*SLOT, Family.YUGABYTEDB),
    ),
    Rule(
        "stream-deleted",
        Severity.LOSES,
        Is("stream.delete.on.stop", ("true",)),
        "the change stream goes when the connector stops, and with it all changes until it starts "
        "again",
        "set stream.delete.on.stop=false",
        (Family.YUGABYTEDB,),
    ),
    Rule(
        "plugin-without-truncates",
        Severity.LOSES,
        IsNot("plugin.name", ("pgoutput",), default="decoderbufs"),
        "only pgoutput carries TRUNCATE: with any other plug-in the rows that it removed stay "
        "current for ever",
        "set plugin.name=pgoutput",
        (Family.POSTGRESQL,),
    ),
    Rule(
        "replica-identity-nothing",
        Severity.LOSES,
        Named(
            "replica.identity.autoset.values",
            r"replica\.identity\.autoset\.values",
            r":\s*nothing\b",
            "sets `NOTHING`",
        ),
        "updates and deletes of these tables do not arrive",
        "set DEFAULT for a table with a primary key, FULL for one without",
        SLOT,
    ),
    Rule(
        "replica-identity-index",
        Severity.NOTE,
        Named(
            "replica.identity.autoset.values",
            r"replica\.identity\.autoset\.values",
            r":\s*(using\s+)?index\b",
            "sets `INDEX`",
        ),
        "if the index is ever dropped, the table behaves as with NOTHING and its updates and "
        "deletes do not arrive",
        "set DEFAULT for a table with a primary key, FULL for one without",
        (Family.POSTGRESQL,),
    ),
    Rule(
        "replica-identity-of-tables",
        Severity.NOTE,
        Missing("replica.identity.autoset.values"),
        "each table's own REPLICA IDENTITY counts: with NOTHING, or DEFAULT and no primary key, "
        "updates and deletes do not arrive",
        "check pg_class.relreplident: d with a primary key, or f (FULL, which also shows what a "
        "row was before)",
        (Family.POSTGRESQL,),
    ),
    Rule(
        "truncates-of-partitions",
        Severity.LOSES,
        Is("publish.via.partition.root", ("true",)),
        "TRUNCATE of a single partition is not sent (of the whole table it is): the rows that it "
        "removed stay current for ever",
        "truncate the partitioned table only, or delete the rows of a partition; without the "
        "setting each partition is a table of its own",
        (Family.POSTGRESQL,),
    ),
    Rule(
        "publication-by-hand",
        Severity.NOTE,
        Is("publication.autocreate.mode", ("disabled", "no_tables")),
        "the publication decides which tables and operations are sent, and nothing here shows it",
        "check pg_publication: insert, update, delete and truncate are all true, every table is in "
        "it, without row filter or column list",
        SLOT,
    ),
    Rule(
        "wal-of-idle-database",
        Severity.NOTE,
        Is("heartbeat.interval.ms", ("0",), default="0"),
        "while the captured tables are idle, the slot holds back the WAL of all databases; if the "
        "server then invalidates the slot, changes are lost",
        "set heartbeat.interval.ms=60000, with a heartbeat.action.query that writes to a captured "
        "table",
        (Family.POSTGRESQL,),
    ),
    Rule(
        "truncates-of-yugabytedb",
        Severity.NOTE,
        Outside("TRUNCATE"),
        "YugabyteDB does not send it to a slot: the rows that it removed stay current",
        "delete rows in its place, or have a snapshot taken after it",
        (Family.YUGABYTEDB_SLOT,),
    ),
    Rule(
        "positions-of-a-slot",
        Severity.NOTE,
        Is("slot.lsn.type", ("SEQUENCE",), default="SEQUENCE"),
        "positions are those of one slot: a slot that is made anew begins with lower ones",
        "declare an `[[epoch]]` in the source file when it is",
        (Family.YUGABYTEDB_SLOT,),
    ),
    Rule(
        "positions-of-transactions",
        Severity.LOSES,
        Is("slot.lsn.type", ("HYBRID_TIME",)),
        "the changes of a transaction share a position, so one that comes again after it was "
        "undone is taken for a second delivery",
        "set slot.lsn.type=SEQUENCE, for a new slot",
        (Family.YUGABYTEDB_SLOT,),
    ),
    Rule(
        "slots-in-parallel",
        Severity.BLURS,
        Is("streaming.mode", ("parallel",)),
        "positions of different slots do not compare: it looks as if the log began anew, which "
        "holds the table",
        "set streaming.mode=default",
        (Family.YUGABYTEDB_SLOT,),
    ),
    Rule(
        "cells-of-yugabytedb",
        Severity.NOTE,
        Is("plugin.name", ("yboutput",), default="yboutput"),
        "its records call their connector postgresql, but wrap their cells",
        "name yugabytedb as `connector` in the source file",
        (Family.YUGABYTEDB_SLOT,),
    ),
    Rule(
        "binlog-image",
        Severity.NOTE,
        Outside("binlog_format, binlog_row_image"),
        "statements are not captured, and an image other than FULL leaves columns out",
        "check on the server: binlog_format=ROW, binlog_row_image=FULL",
        BINLOG,
    ),
    Rule(
        "gtid-sources",
        Severity.LOSES,
        Where(
            Named("gtid.source.includes, gtid.source.excludes", r"gtid\.source\.(in|ex)cludes"),
            (Is("gtid.source.filter.dml.events", ("true",), default="true"),),
        ),
        "changes that were first written on the servers left out are not sent",
        "remove it, or set gtid.source.filter.dml.events=false",
        BINLOG,
    ),
    Rule(
        "lobs",
        Severity.LOSES,
        Is("lob.enabled", ("false",), default="false"),
        "changes of CLOB, NCLOB, BLOB and XMLTYPE columns are not sent",
        "set lob.enabled=true; without such a column in a captured table it is all the same",
        (Family.ORACLE,),
    ),
    Rule(
        "long-transactions",
        Severity.LOSES,
        Where(
            Named(
                "log.mining.transaction.retention.ms",
                r"log\.mining\.transaction\.retention\.(ms|hours)",
                r"[1-9]",
                "more than 0",
            ),
            (_LOGMINER,),
        ),
        "a transaction that stays open longer is thrown away, also if it commits",
        "set it to 0",
        (Family.ORACLE,),
    ),
    Rule(
        "large-transactions",
        Severity.LOSES,
        Where(Above("log.mining.buffer.transaction.events.threshold", 0), (_LOGMINER,)),
        "a transaction with more events is thrown away",
        "set it to 0",
        (Family.ORACLE,),
    ),
    Rule(
        "users-left-out",
        Severity.LOSES,
        Named(
            "log.mining.username.*.list, log.mining.clientid.*.list",
            r"log\.mining\.(username|clientid)\.(include|exclude)\.list",
        ),
        "changes made by the users or clients left out are not sent: their rows are wrong",
        "remove it; leave out tables instead",
        (Family.ORACLE,),
    ),
    Rule(
        "transactions-at-snapshot",
        Severity.LOSES,
        Where(
            IsNot(
                "internal.log.mining.transaction.snapshot.boundary.mode", ("all",), default="skip"
            ),
            (_LOGMINER,),
        ),
        "what transactions open at the snapshot had changed before it is neither read nor streamed",
        "set internal.log.mining.transaction.snapshot.boundary.mode=all, or take the snapshot "
        "while nobody writes",
        (Family.ORACLE,),
    ),
    Rule(
        "archive-logs-limited",
        Severity.NOTE,
        Named(
            "archive.log.hours",
            r"(log\.mining\.)?archive\.log\.hours",
            r"[1-9]",
            "more than 0",
        ),
        "after a longer stop the connector cannot go on where it was: it needs a new snapshot, and "
        "what happened in between is lost",
        "set it to 0",
        (Family.ORACLE,),
    ),
    Rule(
        "mining-without-ddl",
        Severity.BLURS,
        Where(
            Is("log.mining.strategy", ("online_catalog",), default="online_catalog"), (_LOGMINER,)
        ),
        "changes from before a DDL of their table are read with the columns after it (before "
        "Debezium 3.0 the default was redo_log_catalog)",
        "set log.mining.strategy=redo_log_catalog, or hybrid where lob.enabled is false",
        (Family.ORACLE,),
    ),
    Rule(
        "ddl-skipped",
        Severity.BLURS,
        Named(
            "schema.history.internal.skip.unparseable.ddl",
            r"(schema\.history\.internal|database\.history)\.skip\.unparseable\.ddl",
            r"^\s*true\s*$",
            "`true`",
        ),
        "after a DDL that the connector cannot parse, rows are read with the columns before it",
        "set schema.history.internal.skip.unparseable.ddl=false",
        DDL,
    ),
    Rule(
        "updates-without-change",
        Severity.NOTE,
        Is("skip.messages.without.change", ("true",)),
        "an update that changes no captured column is not sent; it would make no version either",
        "nothing to do, unless you count updates (PostgreSQL needs REPLICA IDENTITY FULL for it)",
        DEBEZIUM_2,
    ),
    Rule(
        "tables-chosen",
        Severity.NOTE,
        Named(
            "table.*.list, schema.*.list, database.*.list",
            r"(table|schema|database)\.(include\.list|exclude\.list|whitelist|blacklist)",
        ),
        "tables left out have no history; one added later begins then, without the rows it has",
        "send an incremental snapshot signal for a table that you add",
    ),
    Rule(
        "columns-chosen",
        Severity.NOTE,
        Named(
            "column.include.list, column.exclude.list",
            r"column\.(include\.list|exclude\.list|whitelist|blacklist)",
        ),
        "columns left out have no history; one added later is NULL until its row changes",
        "nothing to do, if that is meant; never leave out a column of a key",
    ),
    Rule(
        "message-key-of-postgresql",
        Severity.LOSES,
        Where(Given("message.key.columns"), (Missing("replica.identity.autoset.values"),)),
        "unless the tables are REPLICA IDENTITY FULL, an old image holds their primary key only: "
        "deletes are keyed by made-up values of these columns, and their rows stay current for "
        "ever",
        "set FULL for these tables, by replica.identity.autoset.values so that it shows here",
        SLOT,
    ),
    Rule(
        "message-key",
        Severity.NOTE,
        Given("message.key.columns"),
        "these columns identify a row in place of its primary key: they have to be unique and not "
        "null, and only their changes count as key moves",
        "nothing to do, if they are; the history is keyed by them",
    ),
)
