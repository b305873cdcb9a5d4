"""How a source stands, read from what its runs leave behind: Delta logs and small tables.

Costs what the last runs did, not what is stored: no history and no payload is read. What a version
of a table holds never changes, so it is kept for the next look.
"""

import logging
from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from datetime import UTC, datetime
from functools import lru_cache
from math import inf
from typing import Any

from strandline.alone.stores import landing, records, schemas, tables
from strandline.changes import scope
from strandline.changes.change import Control
from strandline.changes.columns import SCOPE
from strandline.connectors import CONNECTORS
from strandline.errors import StrandlineError
from strandline.formats import notification
from strandline.formats.notification import Snapshot
from strandline.formats.schema_history import SchemaHistory
from strandline.law.decode.general import Decoded, Decoder
from strandline.runs import commit
from strandline.runs.lake import SourceLake
from strandline.runs.manifest import Work
from strandline.runs.segment import Gap, Landed, Watermarks
from strandline.runs.standing import Loss, Run, SourceStanding, TableStanding
from strandline.sources.source import Source
from strandline_airflow.landing.kafka import KafkaSegments
from strandline_airflow.landing.zone import LandingZone
from strandline_airflow.runs.publications import Publications
from strandline_airflow.runs.published import Published

log = logging.getLogger(__name__)

RUNS = 300  # that are looked back on; a day of them where data lands every five minutes
# Commits of the landing log that are read to find when something landed: so many from where its
# table is published to, and so many from the newest one back.
_NEAR, _COMMITS = 200, 2_000
# Whose reads a snapshot emitted. The files of a table's changes say which times they hold.
_READS = (
    "SELECT DISTINCT _connector_name, _scope FROM stored WHERE _emitted BETWEEN :since AND :until"
)

_MOST_RECORDS = 2_000  # looked at of a table that a snapshot may have read

Place = tuple[str, int]  # topic id and partition


def standing(source: Source, *, ask_kafka: bool = False) -> SourceStanding:
    """How the source stands, by its lake and, where asked to, by Kafka."""
    watermarks, silent = _asked(source) if ask_kafka else (None, None)
    reading = _Reading.of(source, watermarks)
    return SourceStanding(
        source=source.name,
        tolerance=source.default_tolerance,
        tables=reading.tables(),
        runs=tuple(map(_run, reading.runs)),
        landed_at=reading.zone.landed_at(),
        silent=silent,
    )


def runs_of(source: Source, table: str) -> tuple[Published, ...]:
    """What the last runs did to a table, the newest first; none where it had no news."""
    return Publications(SourceLake(source.lake, source.name)).of(table, RUNS)


def _asked(source: Source) -> tuple[Sequence[Watermarks] | None, str | None]:
    """The watermarks of the source, or why there are none."""
    try:
        with KafkaSegments(source.kafka_connection, group=f"strandline.{source.name}") as kafka:
            return kafka.barrier(source.owns).watermarks, None
    except StrandlineError as error:
        return None, str(error)


@dataclass(frozen=True, slots=True)
class _Reading:
    """What was read of a source.

    By topic: how far it is landed, its row of the last publication, its marks in the runs looked
    back on, its losses, and what Kafka has more. By table: what is in quarantine. `version` of the
    landing table has all that is landed.
    """

    source: Source
    zone: LandingZone
    runs: Sequence[Mapping[str, Any]]
    landed: Mapping[str, Sequence[Landed]]
    version: int
    published: Mapping[str, Published]
    marks: Mapping[str, Mapping[str, Any]]
    losses: Mapping[str, Sequence[Loss]]
    quarantined: Mapping[str, Mapping[str, int]]
    unlanded: Mapping[str, int] | None

    @staticmethod
    def of(source: Source, watermarks: Iterable[Watermarks] | None) -> "_Reading":
        lake = SourceLake(source.lake, source.name)
        zone = LandingZone(lake)
        # Published first: what is published meanwhile looks as if it were waiting, not as if lost.
        published, marks, runs = _told(lake, tables.stamp(lake.publications))
        landed: defaultdict[str, list[Landed]] = defaultdict(list)
        registered = _landed(lake, tables.stamp(lake.landing), tables.stamp(lake.partitions))
        for one in registered:
            landed[one.topic].append(one)
        return _Reading(
            source=source,
            zone=zone,
            runs=runs,
            landed=dict(landed),
            version=zone.version() or 0,
            published=published,
            marks=marks,
            losses=_losses(source, lake),
            quarantined=_quarantined(lake.quarantine),
            unlanded=None
            if watermarks is None
            else _unlanded(watermarks, zone.past_gaps(registered)),
        )

    def tables(self) -> tuple[TableStanding, ...]:
        topics = {*self.landed, *self.published, *(self.unlanded or ())}
        own = [topic for topic in topics if not self.source.is_control(topic)]
        return tuple(sorted(map(self._table, own), key=lambda each: each.table))

    def _missing(self, topic: str) -> dict[Place, int]:
        """How far the partitions are applied that have more landed."""
        row = self.published.get(topic)
        return {
            (one.topic_id, one.partition): start
            for one in self.landed.get(topic, ())
            if (start := row.next_of(one) if row else one.first_offset) < one.next_offset
        }

    def _table(self, topic: str) -> TableStanding:
        name, landed = self.source.table_name(topic), self.landed.get(topic, ())
        missing = self._missing(topic)
        reached = {(one.topic_id, one.partition): one.next_offset for one in landed}
        bare = TableStanding(
            table=name,
            topic=topic,
            tolerance=self.source.tolerance(topic),
            landed=sum(reached[place] - start for place, start in missing.items()),
            since=self._since(topic, missing) if missing else None,
            landed_to=sum(reached.values()),
            unlanded=None if self.unlanded is None else self.unlanded.get(topic, 0),
            losses=tuple(self.losses.get(topic, ())),
            quarantined=self.quarantined.get(name, {}),
        )
        row = self.published.get(topic)
        return self._published(bare, row) if row else bare

    def _published(self, bare: TableStanding, row: Published) -> TableStanding:
        mark = self.marks.get(row.topic, {})
        cut = next(self._compactions(), None) or asdict(row)
        return replace(
            bare,
            run=cut["number"],
            began_at=_began(cut),
            published_at=_published(cut),
            history_version=row.history_version,
            history_rows=row.counts.history_rows,
            current_rows=row.counts.current_rows,
            held=row.held,
            held_since=(_time(mark["failed_at"]) if mark.get("failed_at") else _began(asdict(row)))
            if row.held
            else None,
            orphans=mark.get("orphans") or 0,
            orphans_since=_time(since) if (since := mark.get("orphaned_at")) else None,
        )

    def _compactions(self) -> Iterator[Mapping[str, Any]]:
        """The runs that apply what waits, the newest first."""
        return (run for run in self.runs if run["work"] == Work.COMPACT)

    def _covered(self, topic: str) -> int:
        """A version of the landing table, all of whose records of the topic are published."""
        mark = self.marks.get(topic, {})
        # Of a topic that was never applied the compactions before its first had nothing to apply.
        first = mark.get("first") or inf
        before = (run for run in self._compactions() if run["number"] < first)
        return mark.get("covered") or next((run["landing_version"] for run in before), 0)

    def _since(self, topic: str, missing: Mapping[Place, int]) -> datetime | None:
        """When the oldest of what is missing had landed."""
        uri = SourceLake(self.source.lake, self.source.name).landing
        return _landed_at(uri, min(self._covered(topic) + 1, self.version), self.version, missing)


@lru_cache(maxsize=64)
def _told(
    lake: SourceLake, _of: tables.Stamp | None
) -> tuple[Mapping[str, Published], Mapping[str, Mapping[str, Any]], Sequence[Mapping[str, Any]]]:
    """The last publication by topic, the marks of the last runs, and these; of that version."""
    publications = Publications(lake)
    published = {row.topic: row for row in publications.last()}
    marks = _marks(publications, [topic for topic, row in published.items() if row.held])
    return published, marks, publications.runs(RUNS)


@lru_cache(maxsize=64)
def _landed(
    lake: SourceLake, _of: tables.Stamp | None, _registered: tables.Stamp | None
) -> tuple[Landed, ...]:
    """How far everything is landed, at these versions: a log is asked for each partition."""
    return LandingZone(lake).landed()


def _marks(publications: Publications, held: Collection[str]) -> Mapping[str, Mapping[str, Any]]:
    """The marks of the last runs, of more where a table is held for longer: this costs what it is.

    Of a table that is held they have the last run that could apply it, or the first that had it.
    """
    last, number = RUNS, publications.last_number()
    marks = publications.marks(last)
    while any(
        not marks[topic]["good"] and 1 < number - last + 1 >= marks[topic]["first"]
        for topic in held
    ):
        last *= 8
        marks = publications.marks(last)
    return marks


def _landed_at(uri: str, first: int, newest: int, starts: Mapping[Place, int]) -> datetime | None:
    """When one of the partitions was landed beyond its start, by the log from version `first` on.

    What is held waits since soon after that, most else since lately: both ends are looked at. What
    is found at neither, or in no log any more, waits for longer than the oldest commit that is
    known.
    """
    for version in range(first, min(first + _NEAR, newest + 1)):
        commit = _commit(uri, version)
        if commit is not None and commit.moves(starts):
            return commit.moment
    found = oldest = None
    for version in range(newest, max(first - 1, newest - _COMMITS), -1):
        commit = _commit(uri, version)
        if commit is None:
            break  # the log forgets its beginning
        oldest = commit.moment
        found = oldest if commit.moves(starts) else found
    return found or oldest


@dataclass(frozen=True, slots=True)
class _Commit:
    """A commit of the landing table: its time, and the next offsets that it wrote."""

    moment: datetime
    reached: Mapping[Place, int]

    def moves(self, starts: Mapping[Place, int]) -> bool:
        """Whether it landed something of one of the partitions, at its offset or behind it."""
        return any(self.reached.get(place, start) > start for place, start in starts.items())


@lru_cache(maxsize=4_096)
def _commit(uri: str, version: int) -> _Commit | None:
    """A commit of a landing table; None where the log has it no more.

    A version that is still to come would be None as well, and must not be asked for.
    """
    text = tables.log_file(uri, version)
    if text is None:
        return None
    actions = list(commit.actions(text))
    transactions = [action["txn"] for action in actions if "txn" in action]
    (info,) = (action["commitInfo"] for action in actions if "commitInfo" in action)
    # A place has two parts; what else landing keeps of one, such as its leader epoch, has more.
    offsets = [each for each in transactions if each["appId"].count("/") == 1]
    reached = {_place(each["appId"]): int(each["version"]) for each in offsets}
    return _Commit(datetime.fromtimestamp(info["timestamp"] / 1000, UTC), reached)


def _place(identity: str) -> Place:
    topic_id, _, partition = identity.rpartition("/")
    return topic_id, int(partition)


def _quarantined(uri: str) -> Mapping[str, Mapping[str, int]]:
    table = tables.opened(uri)
    return {} if table is None else _counted(uri, str(table.metadata().id), table.version())


@lru_cache(maxsize=64)
def _counted(uri: str, _identity: str, version: int) -> Mapping[str, Mapping[str, int]]:
    """Records in quarantine by table and reason; a table made anew has another identity."""
    table = tables.opened(uri, version)
    sql = 'SELECT "table", reason, count(*) AS records FROM stored GROUP BY 1, 2 ORDER BY 1, 2'
    found: defaultdict[str, dict[str, int]] = defaultdict(dict)
    for row in [] if table is None else tables.rows(table, sql):
        found[row["table"]][row["reason"]] = row["records"]
    return dict(found)


def _losses(source: Source, lake: SourceLake) -> Mapping[str, Sequence[Loss]]:
    """The gaps that no complete snapshot of their table has healed since, by topic."""
    table = tables.opened(lake.gaps)
    rows = [] if table is None else tables.rows(table, "SELECT * FROM stored ORDER BY seen_at")
    snapshots = _snapshots(source, lake) if rows else []
    found: defaultdict[str, list[Loss]] = defaultdict(list)
    for row in rows:
        topic, run_at, recorded_at = row["topic"], row.pop("seen_at"), row.pop("recorded_at", None)
        loss = Loss(Gap(**row), recorded_at or run_at)
        since = (each for each in snapshots if each.started > loss.seen_at.timestamp() * 1000)
        if not any(_has_read(source, lake, topic, each) for each in since):
            found[topic].append(loss)
    return dict(found)


def _snapshots(source: Source, lake: SourceLake) -> list[Snapshot]:
    """The snapshots that were completed, as far as they may end rows."""
    table = tables.opened(lake.control)
    decoder = Decoder(rules=source.rules(source.topic_prefix), history=_named(lake))
    notices = []
    for row in [] if table is None else tables.rows(table, "SELECT * FROM stored"):
        outcome = decoder.decode(landing.record(row))
        if isinstance(outcome, Control):
            notices.append(notification.notice(outcome.payload))
    done = notification.completed(each for each in notices if each is not None)
    return notification.trusted(done, several_tasks=CONNECTORS[source.connector].several_tasks)


def _named(lake: SourceLake) -> SchemaHistory:
    """The schemas that records name."""
    return SchemaHistory(schemas=schemas.known(lake.schemas))


def _has_read(source: Source, lake: SourceLake, topic: str, snapshot: Snapshot) -> bool:
    """Whether a snapshot has read what a topic holds, by its names or, where they tell not, rows.

    A router may call a topic unlike its table, or bring several together.
    """
    of = snapshot.connector or source.topic_prefix
    known = of == source.topic_prefix or topic.startswith(f"{of}.")
    if known and snapshot.has(topic.removeprefix(f"{of}.")):
        return True
    changes = lake.changes(source.table_name(topic))
    readers = _readers(changes, snapshot) | _on_record(source, lake, topic, snapshot)
    return any(
        len({name, snapshot.connector} - {None}) < 2 and snapshot.has(table)
        for name, table in readers
    )


def _on_record(
    source: Source, lake: SourceLake, topic: str, snapshot: Snapshot
) -> frozenset[tuple[str | None, str | None]]:
    """The same of a table that goes alone, by the first records on record since the snapshot."""
    decoder = Decoder(CONNECTORS[source.connector], source.rules(topic), _named(lake))
    path = lake.records(source.table_name(topic))
    found = set()
    for record in records.landed_since(path, snapshot.started, most=_MOST_RECORDS):
        outcome = decoder.decode(record)
        change = outcome.change if isinstance(outcome, Decoded) else None
        if change is None or change.emitted is None or change.scope is None:
            continue
        if snapshot.started <= change.emitted <= snapshot.completed:
            found.add((scope.server(change.scope), scope.table(change.scope)))
    return frozenset(found)


def _readers(uri: str, snapshot: Snapshot) -> frozenset[tuple[str | None, str | None]]:
    """Whose reads of which tables were emitted in a snapshot's time; none where nobody can look."""
    try:
        changes = tables.opened(uri)
        known = None if changes is None else (str(changes.metadata().id), changes.version())
        return _read_in(uri, *known, snapshot) if known else frozenset()
    except StrandlineError as error:
        # delta-rs reads no table with a widened column. A loss too much is told then.
        log.info("%s: not asked for the reads of a snapshot: %s", uri, error)
        return frozenset()


@lru_cache(maxsize=256)
def _read_in(
    uri: str, _identity: str, version: int, snapshot: Snapshot
) -> frozenset[tuple[str | None, str | None]]:
    table = tables.opened(uri, version)
    span = {"since": snapshot.started, "until": snapshot.completed}
    rows = [] if table is None else tables.rows(table, _READS, **span)
    tables_of = ((row["_connector_name"], row[SCOPE]) for row in rows)
    return frozenset((name, of and scope.table(of)) for name, of in tables_of)


def _run(row: Mapping[str, Any]) -> Run:
    began, published = _began(row), _published(row)
    named = {name: row[name] for name in Run.__dataclass_fields__}
    seconds = (published - began).total_seconds() if published else row["seconds"]
    times = {"began_at": began, "published_at": published, "seconds": seconds}
    return Run(**{**named, "work": Work(row["work"]), **times})


def _began(run: Mapping[str, Any]) -> datetime:
    """When a run was planned, by the clock; when it was due, where nobody noted that."""
    return _time(run["began_at"] or run["planned_at"])


def _published(run: Mapping[str, Any]) -> datetime | None:
    """When a run was published; None where nobody noted when it began, or that."""
    times = run["began_at"], run["published_at"]
    return _time(run["published_at"]) if all(times) else None


def _unlanded(watermarks: Iterable[Watermarks], registered: Iterable[Landed]) -> dict[str, int]:
    """How many offsets Kafka has beyond what is landed or known to be lost, by topic."""
    reached = {(one.topic_id, one.partition): one.next_offset for one in registered}
    found: Counter[str] = Counter()
    for mark in watermarks:
        found[mark.topic] += max(mark.end - reached.get((mark.topic_id, mark.partition), 0), 0)
    return dict(found)


def _time(text: str) -> datetime:
    return datetime.fromisoformat(text)
