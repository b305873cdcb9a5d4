"""A rule: a condition on settings, what it does to history, and what to do instead."""

from collections.abc import Iterator
from dataclasses import dataclass

from strandline.advice.conditions import Condition
from strandline.advice.configuration import Configuration, Family
from strandline.advice.finding import Finding, Severity

EVERY = tuple(Family)
DEBEZIUM_2 = tuple(family for family in Family if family is not Family.YUGABYTEDB)
"""Families of Debezium 2 and newer; YugabyteDB's gRPC connector is built on 1.9."""
CURRENT = tuple(family for family in DEBEZIUM_2 if family is not Family.YUGABYTEDB_SLOT)
"""Families of current Debezium; YugabyteDB's connector for replication slots is built on 2.5."""
SLOT = (Family.POSTGRESQL, Family.YUGABYTEDB_SLOT)
"""Families that read a replication slot by PostgreSQL's protocol."""
BINLOG = (Family.MYSQL, Family.MARIADB)
TRUNCATING = (Family.POSTGRESQL, *BINLOG, Family.ORACLE)
"""Families that know truncates and drop them by default.

SQL Server forbids them under change data capture, Db2's connector does not see them.
"""
DDL = (*BINLOG, Family.SQLSERVER, Family.DB2, Family.ORACLE)
"""Families that keep a schema history."""


@dataclass(frozen=True, slots=True)
class Rule:
    """`id` names the rule in tests; `effect` and `remedy` are clauses without a full stop."""

    id: str
    severity: Severity
    condition: Condition
    effect: str
    remedy: str
    families: tuple[Family, ...] = EVERY

    def findings(self, configuration: Configuration) -> Iterator[Finding]:
        """One finding for each setting that meets the condition."""
        if configuration.family not in self.families:
            return
        for match in self.condition.matches(configuration):
            yield Finding(
                self.severity, match.setting, match.value, self.effect, self.remedy, self.id
            )
