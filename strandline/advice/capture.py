"""Rules: which changes the connector sends at all.

Sources: docs/facts/positions.md; docs/facts/envelopes.md, "Truncates" and "Settings that drop
records silently"; Debezium's and YugabyteDB's documentation of the connectors' properties and of
their limitations.
"""

from strandline.advice.conditions import (
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
from strandline.advice.rule import BINLOG, DEBEZIUM_2, SLOT, TRUNCATING, Rule

_TRUNCATES_GONE = "TRUNCATE is not sent: the rows that it removed stay current for ever"
_BY_INDEX = Named(
    "replica.identity.autoset.values",
    r"replica\.identity\.autoset\.values",
    r":\s*(using\s+)?index\b",
    "sets `INDEX`",
)

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
        Severity.LOSES,
        Where(_BY_INDEX, (Missing("message.key.columns"),)),
        "the old image of a row holds the columns of the index only: where that is not the primary "
        "key, deletes and key moves carry a key that is no row's, made of made-up values, and "
        "their rows stay current for ever; if the index is dropped, updates and deletes do not "
        "arrive at all",
        "set DEFAULT for a table with a primary key, FULL for one without",
        (Family.POSTGRESQL,),
    ),
    Rule(
        "replica-identity-index-as-key",
        Severity.NOTE,
        Where(_BY_INDEX, (Given("message.key.columns"),)),
        "the old image of a row holds the columns of the index only: deletes find their rows only "
        "where message.key.columns names exactly these columns for the table, and if the index is "
        "dropped, updates and deletes do not arrive at all",
        "set FULL for these tables",
        (Family.POSTGRESQL,),
    ),
    Rule(
        "replica-identity-of-tables",
        Severity.NOTE,
        Missing("replica.identity.autoset.values"),
        "each table's own REPLICA IDENTITY counts: with NOTHING, or DEFAULT and no primary key, "
        "updates and deletes do not arrive; with USING INDEX, of an index that is not the primary "
        "key, rows of deletes stay current for ever",
        "check pg_class.relreplident: d with a primary key, or f (FULL, which also shows what a "
        "row was before), never n or i",
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
        "it, without row filter; name the columns that a column list leaves out in "
        "`never_streamed` of the source file, since snapshots read them",
        SLOT,
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
        "new-tables-left-out",
        Severity.NOTE,
        Is("auto.add.new.tables", ("false",)),
        "a table that is added to the stream is captured only after the connector starts again",
        "set auto.add.new.tables=true",
        (Family.YUGABYTEDB,),
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
        "columns left out have no history; one added later is NULL until its row changes, one left "
        "out later becomes NULL as if it were dropped",
        "nothing to do, if that is meant; name a column that is left out later in `never_streamed` "
        "of the source file to keep what is known of it; never leave out a column of a key",
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
