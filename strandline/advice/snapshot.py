"""Rules: where a history begins, and what a snapshot can say.

Sources: docs/facts/snapshots.md; Debezium's documentation of `snapshot.mode`.
"""

from strandline.advice.conditions import Above, Given, Is, Where
from strandline.advice.configuration import Family
from strandline.advice.finding import Severity
from strandline.advice.rule import DDL, DEBEZIUM_2, Rule

_BASED = "snapshot.mode.configuration.based"
_BY_CONFIGURATION = (Is("snapshot.mode", ("configuration_based",)),)

SNAPSHOT: tuple[Rule, ...] = (
    Rule(
        "no-stream",
        Severity.LOSES,
        Is("snapshot.mode", ("initial_only",)),
        "the connector stops after the snapshot: no change arrives",
        "set snapshot.mode=initial",
    ),
    Rule(
        "no-stream-configured",
        Severity.LOSES,
        Where(Is(f"{_BASED}.start.stream", ("false",), default="false"), _BY_CONFIGURATION),
        "the connector does not stream: no change arrives",
        f"set {_BASED}.start.stream=true",
        DEBEZIUM_2,
    ),
    Rule(
        "no-initial-rows",
        Severity.BLURS,
        Is("snapshot.mode", ("never", "no_data", "schema_only")),
        "a row that existed before begins with its first change, and unchanged rows are missing",
        "set snapshot.mode=initial",
    ),
    Rule(
        "no-initial-rows-configured",
        Severity.BLURS,
        Where(Is(f"{_BASED}.snapshot.data", ("false",), default="false"), _BY_CONFIGURATION),
        "a row that existed before begins with its first change, and unchanged rows are missing",
        f"set {_BASED}.snapshot.data=true",
        DEBEZIUM_2,
    ),
    Rule(
        "gap-bridged-configured",
        Severity.BLURS,
        Where(Is(f"{_BASED}.snapshot.on.data.error", ("true",)), _BY_CONFIGURATION),
        "where the log no longer reaches back, a new snapshot hides the gap: what happened in it "
        "shows as one correction",
        f"set {_BASED}.snapshot.on.data.error=false, so that the connector stops and a person "
        "decides",
        DEBEZIUM_2,
    ),
    Rule(
        "recovery-configured",
        Severity.BLURS,
        Where(Is(f"{_BASED}.snapshot.on.schema.error", ("true",)), _BY_CONFIGURATION),
        "where the schema history is lost it is made anew: rows from before a DDL since the last "
        "stop are read with the columns after it",
        f"set {_BASED}.snapshot.on.schema.error=false",
        DEBEZIUM_2,
    ),
    Rule(
        "custom-snapshot-query",
        Severity.UNJUDGED,
        Is("snapshot.query.mode", ("custom",)),
        "code that is not Debezium's says which rows and columns a snapshot reads",
        "set snapshot.query.mode=select_all",
        DEBEZIUM_2,
    ),
    Rule(
        "custom-snapshot-locks",
        Severity.UNJUDGED,
        Is("snapshot.locking.mode", ("custom",)),
        "code that is not Debezium's says whether a table may be altered while a snapshot reads it",
        "remove it",
        DEBEZIUM_2,
    ),
    Rule(
        "recovery",
        Severity.BLURS,
        Is("snapshot.mode", ("recovery", "schema_only_recovery")),
        "meant for one start: rows from before a DDL since the last stop are read with the columns "
        "after it",
        "set snapshot.mode=initial as soon as the schema history is back",
        DEBEZIUM_2,
    ),
    Rule(
        "gap-bridged",
        Severity.BLURS,
        Is("snapshot.mode", ("when_needed",)),
        "where the log no longer reaches back, a new snapshot hides the gap: what happened in it "
        "shows as one correction",
        "set snapshot.mode=initial, so that the connector stops and a person decides",
        DEBEZIUM_2,
    ),
    Rule(
        "snapshot-at-every-start",
        Severity.NOTE,
        Is("snapshot.mode", ("always",)),
        "every start reads all rows again; equal rows make no version, but the topics carry them",
        "set snapshot.mode=initial once the failover that asked for it is over",
    ),
    Rule(
        "custom-snapshot",
        Severity.NOTE,
        Is("snapshot.mode", ("custom",)),
        "code that is not Debezium's decides which rows a snapshot reads",
        "switch `sweep` off in the source file, unless that code reads every row",
    ),
    Rule(
        "snapshot-filtered",
        Severity.BLURS,
        Given("snapshot.select.statement.overrides"),
        "rows that the statements leave out begin with their first change, and a row missing from "
        "a snapshot may still exist",
        "remove it, or switch `sweep` off in the source file for these tables",
    ),
    Rule(
        "snapshot-of-some-tables",
        Severity.BLURS,
        Given("snapshot.include.collection.list"),
        "rows of the other tables begin with their first change, and unchanged rows are missing",
        "remove it, or send an incremental snapshot signal for the other tables",
    ),
    Rule(
        "snapshot-inconsistent",
        Severity.BLURS,
        Is("snapshot.isolation.mode", ("read_committed", "read_uncommitted")),
        "the rows of a snapshot are not of one moment, so a first version may be one that never "
        "stood beside the others",
        "set snapshot.isolation.mode=repeatable_read (SQL Server: or snapshot; Db2: or exclusive)",
        (Family.SQLSERVER, Family.DB2, Family.POSTGRESQL),
    ),
    Rule(
        "snapshot-without-locks",
        Severity.NOTE,
        Is("snapshot.locking.mode", ("none",)),
        "a DDL while the snapshot runs makes it read rows with the wrong columns",
        "nothing to do, if no table is altered meanwhile",
        DDL,
    ),
    Rule(
        "snapshot-in-parallel",
        Severity.NOTE,
        Above("snapshot.max.threads", 1),
        "the marks first and last in source.snapshot come in any order; Strandline does not use "
        "them, but goes by notifications",
        "set notification.enabled.channels=sink",
        DEBEZIUM_2,
    ),
    Rule(
        "keys-altered-in-incremental-snapshots",
        Severity.NOTE,
        Is("incremental.snapshot.allow.schema.changes", ("true",)),
        "a primary key that is altered while an incremental snapshot runs makes it read wrong rows",
        "nothing to do, if no key is altered meanwhile",
    ),
)
