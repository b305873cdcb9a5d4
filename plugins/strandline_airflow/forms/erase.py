"""`erase__SOURCE`: everything of given keys goes, from every store of a table."""
# ruff: noqa: PLC0415 - Delta and Arrow are imported by the tasks that use them

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

from airflow.sdk import DAG, Param

from strandline.errors import SpecError, Terminal
from strandline.runs.erasure import Erasure, digest
from strandline.runs.lake import SourceLake
from strandline.runs.manifest import TableCut, Work
from strandline.sources.source import Source
from strandline.timelines import lookup
from strandline_airflow.pipelines.pipeline import Form, ordered
from strandline_airflow.runs import orders
from strandline_airflow.runs.orders import Order

if TYPE_CHECKING:
    from strandline_airflow.runs.published import Published

_RECENT = 1_000  # runs among which an erasure is looked for that may have to be repeated

_PARAMS = {
    "table": Param(
        "", type="string", title="Table", description="The table, as the page shows its name."
    ),
    "keys": orders.lines(
        "Keys",
        'Its keys, one to a line: a value (5) or JSON ({"id": 5}). Every key that a row of '
        "theirs was moved from or to is erased with them.",
    ),
    "dry_run": orders.dry_run(),
}


def order(source: Source, params: dict[str, Any], _run_after: datetime) -> Order:
    """What the form asks for; its lines, options and errors name no key."""
    from strandline_airflow.runs.publications import Publications

    if not params["table"] or not params["keys"]:
        raise SpecError("name the table and at least one of its keys in the form")
    lake = SourceLake(source.lake, source.name)
    (row,) = orders.chosen(source, Publications(lake).last(), [params["table"]])
    _refuse_waiting(source, lake, row)
    _refuse_withheld(source, row)
    keys = _meant(lake, row, params["keys"])
    return Order(
        work=Work.ERASE,
        is_final=True,
        tables=(TableCut(str(row.table), row.topic, (), source.rules(row.topic)),),
        options=asdict(Erasure(tuple(map(digest, sorted(set(keys)))))),
        lines=(
            *_all_that_goes(lake, str(row.table), keys),
            "their rows go from landing, quarantine, what is on record and history",
            "older versions of these tables can no longer be read",
        ),
    )


def _refuse_waiting(source: Source, lake: SourceLake, row: "Published") -> None:
    """`Terminal` where records wait that may be of the keys: nobody has read their keys yet."""
    from strandline_airflow.landing.zone import LandingZone

    waiting = sum(
        one.next_offset - row.reached.get(one.topic_id, {}).get(one.partition, one.first_offset)
        for one in LandingZone(lake).landed()
        if one.topic == row.topic
    )
    if waiting > 0:
        raise Terminal(
            f"{waiting} offsets of {row.topic} are landed and not applied yet, and may be of these "
            f"keys: let compact__{source.name} apply them, then trigger this again"
            + (f". It is held: {row.held}" if row.held else "")
        )


def _refuse_withheld(source: Source, row: "Published") -> None:
    """`Terminal` where the gate withholds what would take the place of what is published.

    An erasure ends all versions before it, so that would be published, and nobody has released it.
    """
    if row.withheld is not None:
        release = orders.dag_id(source.name, Work.RELEASE)
        raise Terminal(
            f"an erasure ends what is published of {row.table}, and what would take its place is "
            f"withheld ({row.withheld.why}). Trigger {release} for it first, then this again"
        )


def _meant(lake: SourceLake, row: "Published", given: Sequence[str]) -> list[str]:
    """The canonical keys of the form, in its order.

    Raises `SpecError` where one is none of the table. It tells their places in the form and no
    keys: the log stays when they are erased.
    """
    from strandline_airflow.runs import stores

    table = str(row.table)
    shape = stores.shape(lake, table)
    if shape is None:
        return _repeated(lake, row, given)
    written = [key.strip() for key in given]
    shown = stores.knowing(lake, table, written)
    keys = [
        key if key in shown else _like(place, key, shape) for place, key in enumerate(written, 1)
    ]
    known = stores.knowing(lake, table, keys)
    # A run that found something afterwards asks to be triggered again: no row has its keys then.
    again = set() if known >= set(keys) else stores.erased(lake, row.number - _RECENT)
    unknown = _places(keys, lambda key: key not in known and digest(key) not in again)
    if unknown:
        raise SpecError(
            f"{table} knows nothing of {unknown} of the form: nothing was erased. Look them up on "
            "the page *Strandline* in Airflow, under the table, and write them as it shows them"
        )
    return keys


def _repeated(lake: SourceLake, row: "Published", given: Sequence[str]) -> list[str]:
    """The keys of an erasure that left the table none, and that found something afterwards.

    They have to be JSON: no row is left that tells of which column a value is.
    """
    from strandline_airflow.runs import stores

    keys = list(map(lookup.alone, given))
    if not set(map(digest, keys)) <= stores.erased(lake, row.number - _RECENT):
        raise SpecError(
            f"{row.table} has rows of no key at all, so there is nothing to erase; to repeat an "
            'erasure write its keys as JSON, {"id": 5}'
        )
    return keys


def _like(place: int, key: str, shape: str) -> str:
    try:
        return lookup.like(key, shape)
    except SpecError as error:
        raise SpecError(f"key {place} of the form: {error}") from None


def _all_that_goes(lake: SourceLake, table: str, keys: list[str]) -> Iterator[str]:
    """Lines that count what goes, and say which places of the form have no version."""
    from strandline_airflow.runs import stores

    linked = stores.linked(lake, table, keys)
    every = [*sorted(set(keys)), *linked]
    found = stores.versions(lake, table, every)
    yield f"{table}: {_keys(every)} with {_counted(found, every)}"
    if linked:
        yield f"of these the form names {_keys(set(keys))} with {_counted(found, keys)}"
        yield f"of these moves link {_keys(linked)} to them, with {_counted(found, linked)}"
    on_record, refused = stores.recorded(lake, table, every)
    yield (
        f"of their records {on_record:,} {'is' if on_record == 1 else 'are'} on record and "
        f"{refused:,} in quarantine; what landed of them goes, too"
    )
    bare = _places(keys, lambda key: key not in found)
    if bare:
        yield f"there is no version of {bare} of the form, only other records"


def _keys(keys: Collection[str]) -> str:
    return f"{len(keys):,} key{'s' * (len(keys) != 1)}"


def _counted(found: Mapping[str, tuple[int, int]], keys: Iterable[str]) -> str:
    """How many versions of the keys were found, and how many of those are current."""
    own = [found[key] for key in set(keys) & found.keys()]
    total, current = (sum(each[n] for each in own) for n in (0, 1))
    return f"{total:,} version{'s' * (total != 1)}, {current:,} of them current"


def _places(keys: Iterable[str], which: Callable[[str], bool]) -> str:
    """Where such keys stand in the form: `keys 1, 3`; "" where none does."""
    places = [str(place) for place, key in enumerate(keys, 1) if which(key)]
    return f"key{'s' * (len(places) > 1)} {', '.join(places)}" if places else ""


FORM = Form("erase", _PARAMS, order, approved=lambda approval: approval.erase)


def dag(source: Source, path: Path) -> DAG:
    """The DAG of a source."""
    return ordered(source, path, FORM)
