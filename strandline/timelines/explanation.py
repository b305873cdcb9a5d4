"""Why the history of a key is what it is: its versions, and the records that made none.

Told from what the law's stages hand to each other: which deliveries `distinct` keeps, which
changes `link` puts into lives, which images `fold` makes versions of. Facts only; they are drawn by
`strandline.timelines.drawing`.
"""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from itertools import pairwise

from strandline.changes import scope
from strandline.changes.change import ENDS, IMAGES, Change, Fence, Op, Quarantined
from strandline.changes.position import major_of
from strandline.changes.record import Coordinates, Record
from strandline.changes.version import ClosedBy, TimeQuality, Version
from strandline.connectors import Connector
from strandline.errors import SpecError
from strandline.formats.registry.schemas import NONE, Schemas
from strandline.law import Rules, Stages, TableHistory, interpret, no_rules
from strandline.law.decode.general import Decoded
from strandline.law.group.fold import Shape, fold
from strandline.law.group.link import Life, Linked, located, table_at
from strandline.timelines import lookup
from strandline.timelines.steps import (
    Cell,
    Closed,
    Explanation,
    Moment,
    Opened,
    Opening,
    Passed,
    Reason,
    Reference,
    Step,
)

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)

# Where a step stands: a position in the source's log, and the offset of a record that has none
# behind the record that has.
_Place = tuple[str, int]
_OWN = -1


@dataclass(frozen=True, slots=True)
class Evidence:
    """All that the timelines of one table are told from.

    `others` are the records that hold neither a change nor a truncate, by key; `nameless` counts
    the quarantined ones that have none.
    """

    history: TableHistory
    stages: Stages
    others: Mapping[str, Sequence[Passed]]
    nameless: int

    def explain(self, key: str) -> Explanation:
        """The timeline of a key: JSON in any spelling, or a bare value (see `timelines.lookup`).

        Raises `SpecError` that says which keys there are.
        """
        stages, keys = self.stages, {change.key for change in self.stages.changes}
        found = lookup.key(key, sorted(keys | self.others.keys()), stages.decoder)
        own = [change for change in stages.changes if change.key == found]
        others = self.others.get(found, ())
        return Explanation(
            topic=self.history.topic,
            key=found,
            steps=_Telling(self.history, stages, found, own, others).steps(),
            same_row=_same_row(self.history.versions, found),
            records=len(own) + len(others),
            truncates=len(stages.fences),
            nameless=self.nameless,
        )


def gather(
    records: Iterable[Record],
    table: str,
    connector: Connector | None = None,
    rules: Rules = no_rules,
    schemas: Schemas = NONE,
) -> Evidence:
    """Interprets the records of a stream and keeps what concerns one table.

    `table` is a topic or its unambiguous end, `schemas` are those that records may name. Raises
    `SpecError` that says which tables there are, why there are none, or why this one stopped.
    """
    arrived = {record.at: record for record in records}
    histories = interpret(arrived.values(), connector, rules=rules, typed=False, schemas=schemas)
    tables = {history.topic: history for history in histories.tables}
    if not tables and histories.quarantined:
        first = histories.quarantined[0]
        raise SpecError(
            f"there is no table: {len(histories.quarantined)} records are quarantined, the first "
            f"as {first.reason}: {first.detail}"
        )
    history = tables[lookup.topic(table, tables)]
    if history.stages is None:
        raise SpecError(f"{history.topic} has no history: {history.error}")
    own = [record for record in arrived.values() if record.at.topic == history.topic]
    others, nameless = _others(history.stages, own, histories.quarantined)
    return Evidence(history, history.stages, others, nameless)


def _others(
    stages: Stages, records: Iterable[Record], quarantined: Iterable[Quarantined]
) -> tuple[dict[str, list[Passed]], int]:
    """What is no change and no truncate, by key; and how many unreadable ones have no key."""
    known = {change.at for change in stages.changes} | {fence.at for fence in stages.fences}
    unreadable = {each.at: each for each in quarantined}
    found: dict[str, list[Passed]] = defaultdict(list)
    nameless = 0
    for record in records:
        at = record.at
        if at in known:
            continue
        bare = stages.decoder.decode(replace(record, value=None, headers=()))
        refused = unreadable.get(at)
        if not isinstance(bare, Decoded):
            nameless += refused is not None
        elif refused is None:
            found[bare.change.key].append(Passed(Reference(at), Reason.CONTROL))
        else:
            detail = f"{refused.reason}: {refused.detail}"
            found[bare.change.key].append(Passed(Reference(at), Reason.QUARANTINED, detail=detail))
    return found, nameless


def _same_row(versions: Sequence[Version], key: str) -> tuple[str, ...]:
    rows = {version.entity_id for version in versions if version.key == key}
    return tuple(sorted({v.key for v in versions if v.entity_id in rows and v.key != key}))


@dataclass(slots=True)
class _Telling:
    """Everything that is asked about one key."""

    history: TableHistory
    stages: Stages
    key: str
    changes: list[Change]
    others: Sequence[Passed]
    lives: list[Life] = field(init=False)
    kept: dict[Coordinates, Change] = field(init=False)
    versions: dict[Coordinates, Version] = field(init=False)
    lived: dict[Coordinates, Life] = field(init=False)
    ignored: dict[Coordinates, tuple[str, ...]] = field(init=False)

    def __post_init__(self) -> None:
        self.lives = self.stages.linked.lives.get(self.key, [])
        self.kept = {c.at: c for c in self.stages.found.changes if c.key == self.key}
        self.versions = {_opener(version): version for version in self.history.versions}
        self.lived = {image.at: life for life in self.lives for image in life.images}
        self.ignored = _ignored_changes(self.key, self.lives, self.versions, self.stages.shape)

    def steps(self) -> tuple[Step, ...]:
        placed = [*self._stays(), *self._passed_records(), *self._passed_truncates()]
        placed.sort(key=lambda each: (*each[0], _rank(each[1]), each[1].record.at.offset))
        return tuple(step for _, step in placed)

    # ---------------------------------------------------- what opened and closed

    def _stays(self) -> Iterator[tuple[_Place, Step]]:
        over: Version | None = None  # what stood where a create came
        for life in self.lives:
            before = over
            for image in life.images:
                version = self.versions.get(image.at)
                if version is not None:
                    yield (image.seq, _OWN), self._opened(life, image, version, before)
                    before = version
            over = before if isinstance(life.end, Change) and life.end.op in IMAGES else None
            if before is not None and life.end is not None and over is None:
                yield (life.end.seq, _OWN), self._closed(life, life.end, before)

    def _opened(
        self, life: Life, image: Change, version: Version, before: Version | None
    ) -> Opened:
        """`before` is the version that stood under the key until this one."""
        first = image.at == life.images[0].at
        base = self._left_by(life.parent) if life.parent is not None and first else before
        return Opened(
            record=_reference(image),
            version=version,
            when=Moment(version.valid_from, version.ts_quality, version.source_ts),
            how=_opening(image, first=first, over=before is not None),
            fresh=base is None,
            cells=tuple(_cells(version, base, self.stages.shape)),
            carried=tuple(n for n in version.row if n in image.unset - set(version.unavailable)),
            partnered=image.moved_from is None or not first or life.parent is not None,
        )

    def _left_by(self, parent: Life) -> Version | None:
        """The last version of the life that a key move continues."""
        found = (self.versions.get(image.at) for image in reversed(parent.images))
        return next((version for version in found if version is not None), None)

    def _closed(self, life: Life, end: Change | Fence, version: Version) -> Closed:
        time = version.valid_to or end.time.best
        quality = end.time.quality if time == end.time.best else TimeQuality.CLAMPED
        arrived = version.moved_to is None or any(
            other.parent is life for other in self.stages.linked.lives.get(version.moved_to, ())
        )
        return Closed(
            record=_reference(end),
            version=version,
            when=Moment(time, quality, end.time.source),
            how=version.closed_by or ClosedBy.UPDATE,
            partnered=arrived,
        )

    # ---------------------------------------------------- what changed nothing

    def _passed_records(self) -> Iterator[tuple[_Place, Step]]:
        """Every delivery of the key that neither opened nor closed, where it came in the log.

        What has no position of its own comes after the record before it in its partition.
        """
        known = self._consequential()
        previous: dict[tuple[str, int], Change | Passed] = {}
        seqs: dict[tuple[str, int], str] = {}
        for at, delivery in sorted(self._deliveries(), key=lambda each: each[0].order):
            before = previous.get(at.log)
            own = self.kept.get(at, delivery).seq if isinstance(delivery, Change) else ""
            seqs[at.log] = own or seqs.get(at.log, "")
            place = (seqs[at.log], _OWN if own else at.offset)
            if isinstance(delivery, Passed):
                yield place, delivery
            elif at not in known:
                yield place, self._passed(delivery, before)
            if isinstance(delivery, Change) or delivery.reason is Reason.QUARANTINED:
                previous[at.log] = delivery

    def _deliveries(self) -> Iterator[tuple[Coordinates, Change | Passed]]:
        yield from ((change.at, change) for change in self.changes)
        yield from ((passed.record.at, passed) for passed in self.others)

    def _consequential(self) -> set[Coordinates]:
        """Where the records stand that opened or closed something."""
        ends = {life.end.at for life in self.lives if isinstance(life.end, Change)}
        return ends | {at for at, version in self.versions.items() if version.key == self.key}

    def _passed(self, change: Change, previous: Change | Passed | None) -> Passed:
        record = _reference(change)
        kept = self.kept.get(change.at)
        if kept is None:
            return self._repeated(change, previous)
        if change.at in self.lived:
            columns = self.ignored.get(change.at, ())
            confirmed = Reason.CONFIRMED if change.op is Op.READ else Reason.UNCHANGED
            return Passed(record, Reason.IGNORED_COLUMNS if columns else confirmed, columns=columns)
        if change.op is Op.READ:
            return Passed(record, Reason.STALE_READ, self._newer(kept))
        if change.op is Op.UPDATE:
            return Passed(record, Reason.TAKEN_OVER)
        return Passed(record, Reason.UNSEEN_ROW if self._live(kept.seq) else Reason.NOT_LIVE)

    def _repeated(self, change: Change, previous: Change | Passed | None) -> Passed:
        record = _reference(change)
        if change.op is not Op.TOMBSTONE:
            firsts = [at for at, kept in self.kept.items() if kept.identity == change.identity]
            earlier = [at for at in firsts if at.order < change.at.order]
            return Passed(
                record, Reason.REDELIVERY, max(earlier or firsts, key=lambda at: at.order)
            )
        if isinstance(previous, Passed):
            return Passed(record, Reason.WAITING, previous.record.at)
        if previous is not None and previous.op in ENDS:
            return Passed(record, Reason.TOMBSTONE, previous.at)
        return Passed(record, Reason.REDELIVERY)

    def _newer(self, read: Change) -> Coordinates | None:
        """What a stale read is older than: a change of the key, or a truncate, at its position.

        One that is outdated: the last change of the key before it in its partition.
        """
        major = major_of(read.seq)
        streamed = [
            change
            for change in self.kept.values()
            if change.op not in {Op.READ, Op.TOMBSTONE}
            and (_is_before(change, read) if read.outdated else major_of(change.seq) == major)
        ]
        if streamed:
            return max(streamed, key=lambda change: change.seq).at
        fences = self.stages.truncates
        own = (fence for fence in fences if fence.concerns(read.scope))
        return next((fence.at for fence in own if major_of(fence.seq) == major), None)

    def _live(self, seq: str) -> bool:
        return any(
            life.images[0].seq <= seq and (life.end is None or seq < life.end.seq)
            for life in self.lives
        )

    def _passed_truncates(self) -> Iterator[tuple[_Place, Step]]:
        ends = [life.end for life in self.lives]
        ended = {end.at for end in ends if isinstance(end, Fence) and not end.sweep}
        firsts = {(fence.seq, fence.scope): fence.at for fence in self.stages.truncates}
        ordered = sorted(self.kept.values(), key=lambda change: change.seq)
        known = next((c.scope for c in ordered if c.scope is not None), None)
        for fence in self.stages.fences:
            record, first = _reference(fence), firsts[fence.seq, fence.scope]
            if fence.at in ended:
                continue
            if fence.at != first:
                yield (fence.seq, _OWN), Passed(record, Reason.REDELIVERY, first)
                continue
            here = located(fence, ordered)
            if here is None or not here.concerns(table_at(ordered, here.seq) or known):
                yield (
                    (fence.seq, _OWN),
                    Passed(
                        record,
                        Reason.OTHER_TABLE,
                        detail=scope.table(fence.scope) if fence.scope else "",
                    ),
                )
            else:
                yield (here.seq, _OWN), Passed(record, Reason.NOT_LIVE)


def _is_before(change: Change, read: Change) -> bool:
    same = change.at.log == read.at.log
    return same and change.at.offset < read.at.offset


def _ignored_changes(
    key: str, lives: list[Life], made: Mapping[Coordinates, Version], shape: Shape
) -> dict[Coordinates, tuple[str, ...]]:
    """The images that would have been versions if no column were ignored, and which changed."""
    every = fold(Linked({key: lives}, 0), replace(shape, tracked=shape.columns), _EPOCH)
    return {
        _opener(version): tuple(cell.name for cell in _cells(version, before, shape))
        for before, version in pairwise(every)
        if _opener(version) not in made
    }


def _opening(image: Change, *, first: bool, over: bool) -> Opening:
    if image.op is Op.READ:
        return Opening.READ if first else Opening.CORRECTION
    if image.moved_from is not None:
        return Opening.KEY_MOVE
    if image.op is Op.CREATE:
        return Opening.CREATE_OVER if over else Opening.CREATE
    return Opening.UPDATE_UNSEEN if first else Opening.UPDATE


def _cells(version: Version, base: Version | None, shape: Shape) -> Iterator[Cell]:
    for name, now in version.row.items():
        was = base.row.get(name) if base is not None else None
        if base is None or not shape.same(name, was, now):
            yield Cell(name, was, now)


def _opener(version: Version) -> Coordinates:
    return Coordinates(version.topic, version.partition, version.offset)


def _rank(step: Step) -> int:
    """At one position rows end before others begin, and a truncate comes before its rows."""
    if isinstance(step, Passed):
        return 1 if step.record.op == Op.TRUNCATE else 3
    return 0 if isinstance(step, Closed) else 2


def _reference(of: Change | Fence) -> Reference:
    position = of.position.text if of.position is not None else ""
    if isinstance(of, Change):
        return Reference(of.at, of.op, position, of.tx_id)
    return Reference(of.at, "" if of.sweep else Op.TRUNCATE, position)
