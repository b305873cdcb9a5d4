"""The documented properties of the connectors, which are all judged but for those named here."""

from strandline.advice.configuration import Family

_COMMON = """
name connector.class tasks.max topic.prefix
binary.handling.mode column.exclude.list column.include.list column.propagate.source.type
converters custom.metric.tags database.hostname database.password database.port database.user
database.query.timeout.ms datatype.propagate.source.type decimal.handling.mode
errors.max.retries event.processing.failure.handling.mode event.converting.failure.handling.mode
extended.headers.enabled executor.shutdown.timeout.ms connection.validation.timeout.ms
field.name.adjustment.mode guardrail.collections.max guardrail.collections.limit.action
heartbeat.action.query heartbeat.interval.ms topic.heartbeat.prefix
include.schema.comments incremental.snapshot.chunk.size
incremental.snapshot.watermarking.strategy incremental.snapshot.allow.schema.changes
max.batch.size max.queue.size max.queue.size.in.bytes message.key.columns
notification.enabled.channels notification.sink.topic.name
openlineage.integration.enabled openlineage.integration.config.file.path
poll.interval.ms post.processors provide.transaction.metadata query.fetch.size
retriable.restart.connector.wait.ms schema.name.adjustment.mode signal.data.collection
signal.enabled.channels signal.poll.interval.ms signal.kafka.topic signal.kafka.bootstrap.servers
skip.messages.without.change skipped.operations snapshot.delay.ms snapshot.fetch.size
snapshot.include.collection.list snapshot.lock.timeout.ms snapshot.locking.mode
snapshot.locking.mode.custom.name snapshot.max.threads snapshot.max.threads.multiplier
snapshot.mode snapshot.mode.configuration.based.snapshot.data
snapshot.mode.configuration.based.snapshot.on.data.error
snapshot.mode.configuration.based.snapshot.on.schema.error
snapshot.mode.configuration.based.snapshot.schema
snapshot.mode.configuration.based.start.stream snapshot.mode.custom.name snapshot.query.mode
snapshot.query.mode.custom.name snapshot.select.statement.overrides
snapshot.tables.order.by.row.count streaming.delay.ms
table.exclude.list table.include.list table.ignore.builtin time.precision.mode
tombstones.on.delete topic.cache.size topic.delimiter topic.transaction
custom.sanitize.pattern
"""
_DDL = """
include.schema.changes schema.history.internal schema.history.internal.file.filename
schema.history.internal.kafka.topic schema.history.internal.kafka.bootstrap.servers
schema.history.internal.kafka.recovery.attempts schema.history.internal.kafka.query.timeout.ms
schema.history.internal.skip.unparseable.ddl
schema.history.internal.store.only.captured.databases.ddl
schema.history.internal.store.only.captured.tables.ddl
schema.history.internal.producer.security.protocol
schema.history.internal.consumer.security.protocol
"""
_SLOT = """
plugin.name slot.name slot.drop.on.stop slot.max.retries slot.retry.delay.ms
publication.name publication.autocreate.mode replica.identity.autoset.values
database.dbname database.sslmode database.sslcert database.sslkey database.sslpassword
database.sslrootcert database.sslfactory database.tcpKeepAlive schema.include.list
schema.exclude.list hstore.handling.mode interval.handling.mode include.unknown.datatypes
unavailable.value.placeholder money.fraction.digits message.prefix.include.list
message.prefix.exclude.list flush.lsn.source status.update.interval.ms xmin.fetch.interval.ms
slot.stream.params
"""
_POSTGRESQL = """
publish.via.partition.root slot.failover schema.refresh.mode offset.mismatch.strategy
snapshot.isolation.mode lsn.flush.mode database.initial.statements
"""
_SQLSERVER = """
database.names database.instance data.query.mode max.iteration.transactions
snapshot.isolation.mode streaming.fetch.size incremental.snapshot.option.recompile
unavailable.value.placeholder
"""
_DB2 = """
database.dbname snapshot.isolation.mode cdc.control.schema cdc.change.tables.schema db2.platform
z.stop.lsn.ignore.ind
"""
_BINLOG = """
database.include.list database.exclude.list database.server.id database.server.id.offset
database.ssl.mode database.ssl.keystore database.ssl.keystore.password database.ssl.truststore
database.ssl.truststore.password database.jdbc.driver database.protocol
bigint.unsigned.handling.mode enable.time.adjuster include.query
event.deserialization.failure.handling.mode inconsistent.schema.handling.mode
gtid.source.includes gtid.source.excludes gtid.source.filter.dml.events
connect.timeout.ms connect.keep.alive connect.keep.alive.interval.ms binlog.buffer.size
min.row.count.to.stream.results use.nongraceful.disconnect read.only
database.initial.statements
"""
_ORACLE = """
database.dbname database.pdb.name database.url database.connection.adapter
database.out.server.name lob.enabled unavailable.value.placeholder interval.handling.mode
rac.nodes archive.log.hours archive.destination.name openlogreplicator.source
openlogreplicator.host openlogreplicator.port snapshot.database.errors.max.retries
log.mining.archive.log.only.mode log.mining.archive.log.only.scn.poll.interval.ms
log.mining.batch.size.default log.mining.batch.size.min log.mining.batch.size.max
log.mining.buffer.type log.mining.buffer.drop.on.stop
log.mining.buffer.transaction.events.threshold
log.mining.buffer.infinispan.cache.transactions log.mining.buffer.infinispan.cache.events
log.mining.buffer.infinispan.cache.schema_changes log.mining.buffer.ehcache.global.config
log.mining.flush.table.name log.mining.include.redo.sql log.mining.query.filter.mode
log.mining.restart.connection log.mining.scn.gap.detection.gap.size.min
log.mining.scn.gap.detection.time.interval.max.ms log.mining.session.max.ms
log.mining.sleep.time.default.ms log.mining.sleep.time.increment.ms log.mining.strategy
log.mining.transaction.retention.ms log.mining.username.include.list
log.mining.username.exclude.list log.mining.clientid.include.list
log.mining.schema_changes.username.exclude.list log.mining.path.dictionary
"""
_YUGABYTEDB = """
name connector.class tasks.max database.hostname database.port database.master.addresses
database.user database.password database.dbname database.server.name database.streamid slot.name
publication.name plugin.name table.include.list table.exclude.list schema.include.list
schema.exclude.list column.include.list column.exclude.list message.key.columns
table.max.num.tablets database.sslmode database.sslrootcert database.sslcert database.sslkey
snapshot.mode snapshot.include.collection.list cdc.poll.interval.ms cdc.poll.interval.active.ms
cdc.poll.interval.idle.ms admin.operation.timeout.ms operation.timeout.ms socket.read.timeout.ms
time.precision.mode decimal.handling.mode binary.handling.mode interval.handling.mode
transaction.topic provide.transaction.metadata skipped.operations max.queue.size max.batch.size
max.queue.size.in.bytes max.connector.retries connector.retry.delay.ms ignore.exceptions
tombstones.on.delete auto.add.new.tables new.table.poll.interval.ms transaction.ordering
"""

DOCUMENTED = {
    family: tuple("".join(texts).split())
    for family, texts in {
        Family.POSTGRESQL: (
            _COMMON,
            _SLOT,
            _POSTGRESQL,
        ),
        Family.MYSQL: (_COMMON, _DDL, _BINLOG),
        Family.MARIADB: (_COMMON, _DDL, _BINLOG),
        Family.SQLSERVER: (
            _COMMON,
            _DDL,
            _SQLSERVER,
        ),
        Family.DB2: (_COMMON, _DDL, _DB2),
        Family.ORACLE: (_COMMON, _DDL, _ORACLE),
        Family.YUGABYTEDB: (_YUGABYTEDB,),
        Family.YUGABYTEDB_SLOT: (
            _SLOT,
            "slot.lsn.type streaming.mode skipped.operations snapshot.mode",
        ),
    }.items()
}

NOT_JUDGED = {
    # Parameters and statements that may do anything.
    Family.POSTGRESQL: ("slot.stream.params", "database.initial.statements"),
    Family.YUGABYTEDB_SLOT: ("slot.stream.params",),
    Family.MYSQL: ("database.initial.statements",),
    Family.MARIADB: ("database.initial.statements",),
    # Whether it brings changes twice that a change table has behind its end is not known.
    Family.DB2: ("z.stop.lsn.ignore.ind",),
    # Whether transactions that were open at a stop are mined again is not known.
    Family.ORACLE: ("log.mining.buffer.drop.on.stop",),
}
