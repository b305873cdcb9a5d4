"""Settings that do nothing to history, so that no rule needs to know them.

Each was looked at once, by its documentation. `*` stands for any text in a name. What is neither
here nor in a rule is not judged.
"""

import re
from collections.abc import Iterable
from dataclasses import dataclass

from strandline.advice.configuration import Configuration, Family
from strandline.advice.rule import BINLOG, DDL, EVERY, SLOT


@dataclass(frozen=True, slots=True)
class Harmless:
    """Settings of some connectors that are about one thing, which is not history."""

    about: str
    names: tuple[str, ...]
    families: tuple[Family, ...] = EVERY

    def has(self, name: str) -> bool:
        """True for one of the settings."""
        return any(re.fullmatch(_pattern(each), name) for each in self.names)


def harmless(configuration: Configuration, names: Iterable[str]) -> set[str]:
    """Those of the settings that do nothing to the history of this connector."""
    groups = [group for group in HARMLESS if configuration.family in group.families]
    return {name for name in names if any(group.has(name) for group in groups)}


def _pattern(name: str) -> str:
    return ".*".join(map(re.escape, name.split("*")))


HARMLESS: tuple[Harmless, ...] = (
    Harmless(
        "the connector itself, and how Connect runs it",
        (
            "name",
            "connector.class",
            "*.plugin.version",
            "tasks.max",
            "tasks.max.enforce",
            "config.action.reload",
            "errors.log.*",
            "errors.retry.*",
            "errors.max.retries",
            "exactly.once.support",
            "transaction.boundary",
            "transaction.boundary.interval.ms",
            "offsets.storage.topic",
            "retriable.restart.connector.wait.ms",
            "executor.shutdown.timeout.ms",
            "custom.metric.tags",
            "custom.sanitize.pattern",
            "advanced.metrics.enable",
            "openlineage.*",
            "guardrail.*",
        ),
    ),
    Harmless(
        "where the database is, and how it is reached",
        (
            "topic.prefix",
            "database.server.name",
            "database.hostname",
            "database.port",
            "database.user",
            "database.password",
            "database.dbname",
            "database.ssl*",
            "database.query.timeout.ms",
            "database.tcpKeepAlive",
            "database.applicationName",
            "driver.ssl*",
            "connection.validation.timeout.ms",
        ),
    ),
    Harmless(
        "where MySQL and MariaDB are, and how they are reached",
        (
            "database.server.id*",
            "database.jdbc.*",
            "database.protocol",
            "connect.timeout.ms",
            "connect.keep.alive*",
            "use.nongraceful.disconnect",
            "binlog.buffer.size",
            "min.row.count.to.stream.results",
        ),
        BINLOG,
    ),
    Harmless(
        "where SQL Server is, and how it is reached",
        (
            "database.names",
            "database.instance",
            "database.encrypt",
            "database.trustServerCertificate",
            "database.applicationIntent",
            "driver.encrypt",
            "driver.trustServerCertificate",
            "driver.applicationIntent",
            "max.iteration.transactions",
            "streaming.fetch.size",
            "incremental.snapshot.option.recompile",
        ),
        (Family.SQLSERVER,),
    ),
    Harmless(
        "where Db2's change tables are",
        ("cdc.control.schema", "cdc.change.tables.schema"),
        (Family.DB2,),
    ),
    Harmless(
        "how much is read at once, and how often",
        (
            "max.batch.size",
            "max.queue.size*",
            "poll.interval.ms",
            "query.fetch.size",
            "snapshot.fetch.size",
            "snapshot.delay.ms",
            "snapshot.lock.timeout.ms",
            "snapshot.tables.order.by.row.count",
            "snapshot.max.threads.multiplier",
            "snapshot.mode.configuration.based.snapshot.schema",
            "snapshot.mode.custom.name",
            "snapshot.query.mode.custom.name",
            "snapshot.locking.mode",
            "snapshot.locking.mode.custom.name",
            "streaming.delay.ms",
            "incremental.snapshot.chunk.size",
            "incremental.snapshot.watermarking.strategy",
            "heartbeat.interval.ms",
            "heartbeat.action.query",
            "topic.cache.size",
        ),
    ),
    Harmless(
        "signals",
        ("signal.*", "read.only", "table.ignore.builtin"),
    ),
    Harmless(
        "what records say besides the row and its place",
        (
            "include.schema.comments",
            "column.propagate.source.type",
            "datatype.propagate.source.type",
            "schema.name.adjustment.mode",
            "transforms.*.add.headers",
            "transforms.*.add.headers.prefix",
        ),
    ),
    Harmless(
        "how Connect writes keys, schemas and topics",
        (
            "key.converter.schemas.enable",
            "key.converter.replace.null.with.default",
            "*.converter.schemas.cache.size",
            "*.converter.decimal.format",
            "*.converter.schema.registry.*",
            "*.converter.apicurio.registry.*",
            "*.converter.auto.register.schemas",
            "*.converter.use.latest.version",
            "*.converter.enhanced.avro.schema.support",
            "*.converter.scrub.invalid.names",
            "*.converter.schemas.cache.config",
            "*.converter.basic.auth.*",
            "*.converter.*.subject.name.strategy",
            "header.converter.*",
            "topic.creation.groups",
            "topic.creation.*.include",
            "topic.creation.*.exclude",
            "topic.creation.*.partitions",
            "topic.creation.*.replication.factor",
            "topic.creation.*.compression.type",
            "topic.creation.*.max.message.bytes",
            "topic.creation.*.min.insync.replicas",
            "topic.creation.*.segment.*",
            "topic.creation.*.delete.retention.ms",
            "producer.override.batch.size",
            "producer.override.bootstrap.servers",
            "producer.override.buffer.memory",
            "producer.override.client.id",
            "producer.override.compression.*",
            "producer.override.linger.ms",
            "producer.override.max.request.size",
            "producer.override.*.timeout.ms",
            "producer.override.max.block.ms",
            "producer.override.retry.backoff.*",
            "producer.override.sasl.*",
            "producer.override.security.protocol",
            "producer.override.ssl.*",
            "consumer.override.*",
            "admin.override.*",
        ),
    ),
    Harmless(
        "where the schema history is kept",
        tuple(
            f"{history}{rest}"
            for history in ("schema.history.internal", "database.history")
            for rest in (
                "",
                *(f".{store}.*" for store in ("kafka", "consumer", "producer", "file", "s3")),
                *(f".{store}.*" for store in ("jdbc", "redis", "azure", "rocketmq")),
                ".store.only.captured.*",
                ".store.only.monitored.*",
                ".prefer.ddl",
                ".recovery.*",
            )
        ),
        DDL,
    ),
    Harmless(
        "the replication slot, and types that show themselves",
        (
            "slot.name",
            "slot.max.retries",
            "slot.retry.delay.ms",
            "slot.failover",
            "create.slot.command.timeout",
            "publication.name",
            "flush.lsn.source",
            "lsn.flush.timeout*",
            "status.update.interval.ms",
            "xmin.fetch.interval.ms",
            "hstore.handling.mode",
            "message.prefix.include.list",
            "message.prefix.exclude.list",
        ),
        SLOT,
    ),
    Harmless("the text of statements", ("include.query",), BINLOG),
    Harmless(
        "how Oracle is reached, and its log is mined",
        (
            "database.url",
            "database.pdb.name",
            "database.out.server.name",
            "database.oracle.version",
            "database.connection.adapter",
            "openlogreplicator.*",
            "rac.nodes",
            "archive.destination.name",
            "snapshot.database.errors.max.retries",
            "log.mining.archive.destination.name",
            "log.mining.archive.log.only.*",
            "log.mining.batch.size.*",
            "log.mining.buffer.type",
            "log.mining.buffer.infinispan.*",
            "log.mining.buffer.ehcache.*",
            "log.mining.flush.table.name",
            "log.mining.hash.area.size",
            "log.mining.sort.area.size",
            "log.mining.include.redo.sql",
            "log.mining.log.*",
            "log.mining.max.scn.deviation.ms",
            "log.mining.path.dictionary",
            "log.mining.query.filter.mode",
            "log.mining.restart.connection",
            "log.mining.resume.position.interval.ms",
            "log.mining.scn.gap.detection.*",
            "log.mining.session.max.ms",
            "log.mining.sleep.time.*",
        ),
        (Family.ORACLE,),
    ),
    Harmless(
        "how YugabyteDB is reached",
        (
            "database.master.addresses",
            "database.streamid",
            "slot.name",
            "publication.name",
            "plugin.name",
            "table.max.num.tablets",
            "cdc.poll.interval.*",
            "new.table.poll.interval.ms",
            "admin.operation.timeout.ms",
            "operation.timeout.ms",
            "socket.read.timeout.ms",
            "max.connector.retries",
            "connector.retry.delay.ms",
            "max.rpc.retry.attempts",
            "rpc.retry.sleep.time",
            "transaction.ordering",
        ),
        (Family.YUGABYTEDB,),
    ),
)
