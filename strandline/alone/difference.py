"""What a run changes in a history: how its versions differ from the rows that stand there."""

from collections.abc import Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, fields, replace
from datetime import UTC, datetime

import pyarrow as pa
import pyarrow.compute as pc
from deltalake import DeltaTable

from strandline.alone.stores import history
from strandline.alone.stores.history import Place, Replacement, Standing
from strandline.cells.instants import micros
from strandline.changes.columns import (
    IS_CURRENT,
    IS_HEAD,
    RECORDED_AT,
    SCOPE,
    SEQ_SEEN,
    VALID_TO,
)
from strandline.law.continuation import Run
from strandline.law.plain.continued import Onward
from strandline.law.versions import Versions
from strandline.runs.receipt import Counts

# When it was recorded is no part of a version; nor is what only the next run goes on from.
_PASSING = frozenset({RECORDED_AT, SCOPE, SEQ_SEEN})


@dataclass(frozen=True, slots=True)
class Change:
    """What a run changes in a history, and what is counted of it.

    `come` versions are new or other ones, `gone` are no more as they were. `made` are all versions
    of the keys that it has looked at, since their last ones of before where keys went on, `stood`
    those that stood in their place.
    """

    replacement: Replacement
    come: int
    gone: int
    made: int
    made_open: int
    stood: int
    stood_open: int

    def __add__(self, other: "Change") -> "Change":
        """Both, of other keys."""
        one, two = self.replacement, other.replacement
        rows = pa.concat_tables([one.come, two.come])
        only_heads = one.only_heads and two.only_heads
        both = replace(one, come=rows, gone=[*one.gone, *two.gone], only_heads=only_heads)
        numbers = {name: getattr(self, name) + getattr(other, name) for name in _NUMBERS}
        return Change(both, **numbers)

    @property
    def closed(self) -> int:
        """How many more versions have ended than before."""
        return (self.made - self.made_open) - (self.stood - self.stood_open)

    def totals(self, before: Counts | None) -> Mapping[str, int]:
        """How many versions the history has after the run, and how many of them are open.

        `before`: how many it had; None where the run has looked at all keys.
        """
        had = Counts() if before is None else before
        stood, stood_open = (0, 0) if before is None else (self.stood, self.stood_open)
        return {
            "history_rows": had.history_rows - stood + self.made,
            "current_rows": had.current_rows - stood_open + self.made_open,
        }


_NUMBERS = tuple(of.name for of in fields(Change) if of.name != "replacement")


def change(
    stored: DeltaTable | None, standing: Standing, found: Run, forgotten: str | None = None
) -> Change:
    """Which versions come and which go, of those that the run has looked at.

    What stands is asked of the table itself: another release, or another rule, has made it.
    Versions that ended before `forgotten` (an ISO-8601 instant) are no longer kept.
    Raises `BeyondAloneError` where a column's name cannot be written here.
    """
    history.admit(found.found.columns)
    derived = _derived(stored, standing, found, forgotten)
    return derived if found.onward is None else derived + _gone_on(found, found.onward, forgotten)


def _derived(
    stored: DeltaTable | None, standing: Standing, found: Run, forgotten: str | None
) -> Change:
    columns = found.found.columns
    new = _made(found)
    new = Standing.of(new.rows.filter(_remembered(new.rows, forgotten)))
    same = _same(standing, new)
    rows = _recorded(new, standing, same)
    anew = stored is None or (found.whole and not history.has(stored, columns))
    if anew:
        replacement = Replacement(columns, rows, (), whole=True)
    else:
        staying = _seen_alike(new, standing, same)
        come = rows.filter(pa.array([place not in staying for place in new.places], pa.bool_()))
        gone = {of: n for of, n in standing.places.items() if of not in staying}
        is_head = standing.rows[IS_HEAD].to_pylist() if gone else ()
        only_heads = all(is_head[n] for n in gone.values())
        replacement = Replacement(columns, come, list(gone), only_heads=only_heads)
    return Change(
        replacement,
        come=len(new.places) - (0 if anew else len(same)),
        gone=len(standing.places) - len(same),
        made=len(new.places),
        made_open=new.open,
        stood=len(standing.places),
        stood_open=standing.open,
    )


def _gone_on(found: Run, made: Onward, forgotten: str | None) -> Change:
    """The last version of each key goes, for what takes its place: more is noted beside it now."""
    columns, moment = found.found.columns, micros(_versions(found).recorded_at)
    rows = history.gone_on(made, columns, found.found.topic, moment)
    kept = _remembered(rows, forgotten)
    rows = rows.filter(kept)
    gone = [(k, seq) for k, seq in zip(made.keys, made.stood, strict=True) if seq is not None]
    is_new = [recorded is None for recorded in made.recorded]
    return Change(
        Replacement(columns, rows, gone, only_heads=True),
        come=sum(new and keep for new, keep in zip(is_new, kept.to_pylist(), strict=True)),
        gone=len(gone) - is_new.count(False),
        made=rows.num_rows,
        made_open=rows[IS_CURRENT].to_pylist().count(True),
        stood=len(gone),
        stood_open=sum(made.was_open),
    )


def _remembered(rows: pa.Table, forgotten: str | None) -> pa.Array:
    """For each row whether the source's retention keeps it."""
    if forgotten is None:
        return pa.array([True] * rows.num_rows, pa.bool_())
    moment = pa.scalar(datetime.fromisoformat(forgotten).astimezone(UTC), rows[VALID_TO].type)
    late = pc.fill_null(pc.greater_equal(rows[VALID_TO], moment), fill_value=True)
    return pc.or_(rows[IS_HEAD], late).combine_chunks()


def _recorded(new: Standing, standing: Standing, same: AbstractSet[Place]) -> pa.Table:
    """The rows, of which those that are the `same` keep the time at which they were recorded."""
    if not same:
        return new.rows
    times, of = new.rows[RECORDED_AT].to_pylist(), standing.rows[RECORDED_AT].to_pylist()
    for place in same:
        times[new.places[place]] = of[standing.places[place]]
    at = new.rows.schema.get_field_index(RECORDED_AT)
    return new.rows.set_column(at, RECORDED_AT, pa.array(times, new.rows[RECORDED_AT].type))


def _seen_alike(new: Standing, standing: Standing, same: AbstractSet[Place]) -> AbstractSet[Place]:
    """Of versions that are the same those beside which the same is noted."""
    own = new.rows[SEQ_SEEN].to_pylist()
    known = _column(standing.rows, SEQ_SEEN).to_pylist()
    return {of for of in same if own[new.places[of]] == known[standing.places[of]]}


def compared(old: Standing, found: Run) -> dict[str, int]:
    """How many versions are in both and equal, in both and different, only in one.

    A version is known by its key and the position that it begins at. A cell of a column that is
    text on one side only is the same where its text is.
    """
    new = _made(found)
    both = len(old.places.keys() & new.places.keys())
    equal = len(_same(_told(old, new.rows.schema), _told(new, old.rows.schema)))
    return {
        "equal": equal,
        "different": both - equal,
        "only in the old": len(old.places) - both,
        "only in the new": len(new.places) - both,
    }


def _told(of: Standing, other: pa.Schema) -> Standing:
    """Those rows, with texts in the columns that are texts on the other side and not here."""
    rows = of.rows
    for place, own in enumerate(rows.schema):
        is_text = own.name in other.names and other.field(own.name).type == pa.string()
        if is_text and (pa.types.is_primitive(own.type) or pa.types.is_decimal(own.type)):
            rows = rows.set_column(place, own.name, rows[own.name].cast(pa.string()))
    return replace(of, rows=rows)


def _made(found: Run) -> Standing:
    """The versions of keys that were derived, as the table gives them back."""
    return Standing.of(history.all_made(_versions(found), found.found.columns, found.found.topic))


def _versions(found: Run) -> Versions:
    versions = found.found.versions
    assert isinstance(versions, Versions)  # noqa: S101 - as of every table that did not stop
    return versions


def _same(one: Standing, other: Standing) -> frozenset[Place]:
    """The places of versions that are the same in both."""
    both = [place for place in other.places if place in one.places]
    if not both:
        return frozenset()
    a = one.rows.take([one.places[place] for place in both])
    b = other.rows.take([other.places[place] for place in both])
    names = dict.fromkeys((*a.column_names, *b.column_names))
    equal = [True] * len(both)
    for name in names.keys() - _PASSING:
        cells = _equal(_column(a, name), _column(b, name))
        equal = [so and also for so, also in zip(equal, cells, strict=True)]
    return frozenset(place for place, so in zip(both, equal, strict=True) if so)


def _column(rows: pa.Table, name: str) -> pa.ChunkedArray:
    """A column, of nulls where there is none."""
    return rows[name] if name in rows.column_names else pa.chunked_array([pa.nulls(len(rows))])


def _equal(one: pa.ChunkedArray, other: pa.ChunkedArray) -> Sequence[bool]:
    """For each row whether its two cells are one value; what is no number is one, too."""
    if one.type != other.type or pa.types.is_nested(one.type):
        return [a == b for a, b in zip(one.to_pylist(), other.to_pylist(), strict=True)]
    same = pc.fill_null(pc.equal(one, other), False)
    same = pc.or_(same, pc.and_(pc.is_null(one), pc.is_null(other)))
    if pa.types.is_floating(other.type):
        no_number = pc.and_(pc.is_nan(one), pc.is_nan(other))
        same = pc.or_(same, pc.fill_null(no_number, False))
    return list(same.to_pylist())
