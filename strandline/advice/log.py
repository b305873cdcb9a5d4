"""Rules: how the source's log is read, and what of it may be gone or passed over.

Sources: docs/facts/positions.md; Debezium's and YugabyteDB's documentation of the connectors'
properties and of their limitations.
"""

from strandline.advice.conditions import Above, Given, Is, IsNot, Named, Outside, Where
from strandline.advice.configuration import Family
from strandline.advice.finding import Severity
from strandline.advice.rule import BINLOG, DDL, SLOT, Rule

_LOGMINER = Is("database.connection.adapter", ("logminer", "logminer_unbuffered"), "logminer")

LOG: tuple[Rule, ...] = (
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
        "offset-moved-to-slot",
        Severity.LOSES,
        Is("offset.mismatch.strategy", ("trust_slot", "trust_greater_lsn")),
        "where the slot is ahead of what Kafka has, the connector goes on from the slot: the "
        "changes in between are not sent",
        "set offset.mismatch.strategy=trust_offset, and have a snapshot taken where it stops",
        (Family.POSTGRESQL,),
    ),
    Rule(
        "slot-confirmed-by-driver",
        Severity.UNJUDGED,
        Is("lsn.flush.mode", ("connector_and_driver",)),
        "the driver, too, tells the server what it need not keep, and nobody has shown that it "
        "never runs ahead of Kafka",
        "set lsn.flush.mode=connector, with a heartbeat.action.query for an idle database",
        (Family.POSTGRESQL,),
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
        "gtid-channel-from-its-end",
        Severity.LOSES,
        Is("gtid.new.channel.position", ("latest",)),
        "what a new channel had written before the connector saw it is not sent",
        "set gtid.new.channel.position=earliest",
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
        "changes of CLOB, NCLOB, BLOB and XMLTYPE columns are not sent, though snapshots read them",
        "set lob.enabled=true, or name these columns in `never_streamed` of the source file; "
        "without such a column in a captured table it is all the same",
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
        "ddl-of-users-left-out",
        Severity.BLURS,
        Given("log.mining.schema_changes.username.exclude.list"),
        "DDL of these users is not seen: rows after it are read with the columns before it",
        "remove it: SYS and SYSTEM are left out by default",
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
)
