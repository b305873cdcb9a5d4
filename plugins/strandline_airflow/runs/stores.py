"""Where the keys of a table stand: in its history, and in every other store that is erased from.

Those are the stores of either way, and the moves by which an erasure finds more keys. Keys
are canonical (see `strandline.changes.key`), and nothing but their columns is read.
"""

import json
from collections.abc import Iterable
from typing import Any

from strandline.alone.stores import moves, tables
from strandline.cells.values import compact
from strandline.runs.lake import SourceLake
from strandline.runs.manifest import Work

_VERSIONS = (
    "SELECT _key AS key FROM stored UNION ALL SELECT _moved_from FROM stored"
    " UNION ALL SELECT _moved_to FROM stored"
)
_ENTRIES = "SELECT entry_key AS key FROM stored UNION ALL SELECT entry_other AS key FROM stored"
_MOVES = "SELECT _old AS key FROM stored UNION ALL SELECT _new FROM stored"
_COUNTED = (
    "SELECT _key AS key, count(*) AS n, count(*) FILTER (WHERE _is_current) AS open"
    " FROM stored WHERE _key IN :keys GROUP BY 1"
)
_ON_RECORD = "SELECT count(*) AS n FROM stored WHERE entry_key IN :keys"
_REFUSED = 'SELECT count(*) AS n FROM stored WHERE "table" = :table AND record_key IN :keys'
_ORDERS = "SELECT manifest FROM stored WHERE number > :after AND strpos(manifest, :work) > 0"


def knowing(lake: SourceLake, table: str, keys: list[str]) -> set[str]:
    """Those of the keys that a store of the table has a row or a move of."""
    return {row["key"] for row in _rows(lake, table, "key IN :keys", keys=keys)}


def shape(lake: SourceLake, table: str) -> str | None:
    """What a key of the table looks like, with values that are nobody's; None where it has none."""
    found = next(iter(_rows(lake, table, "key IS NOT NULL LIMIT 1")), None)
    if found is None:
        return None
    return compact({name: _made_up(cell) for name, cell in json.loads(found["key"]).items()})


def linked(lake: SourceLake, table: str, keys: Iterable[str]) -> list[str]:
    """The keys that rows of these moved from or to, however far; without these."""
    own = set(keys)
    pairs = moves.edges(lake.history(table), lake.records(table))
    return sorted(moves.related(pairs, own) - own)


def versions(lake: SourceLake, table: str, keys: list[str]) -> dict[str, tuple[int, int]]:
    """How many versions the history has of each key, and how many of them are current.

    It is without the keys that it has none of.
    """
    stored = tables.opened(lake.history(table))
    found = [] if stored is None or not keys else tables.rows(stored, _COUNTED, keys=keys)
    return {row["key"]: (row["n"], row["open"]) for row in found}


def recorded(lake: SourceLake, table: str, keys: list[str]) -> tuple[int, int]:
    """How many records of the keys are on record, and how many lie in quarantine."""
    on_record, refused = tables.opened(lake.records(table)), tables.opened(lake.quarantine)
    return (
        0 if on_record is None else tables.rows(on_record, _ON_RECORD, keys=keys)[0]["n"],
        0 if refused is None else tables.rows(refused, _REFUSED, table=table, keys=keys)[0]["n"],
    )


def erased(lake: SourceLake, after: int) -> set[str]:
    """Digests of the keys that runs with a higher number were to erase."""
    stored = tables.opened(lake.manifests)
    work = json.dumps({"work": Work.ERASE})[1:-1]
    found = [] if stored is None else tables.rows(stored, _ORDERS, after=after, work=work)
    orders = (json.loads(row["manifest"])["order"] for row in found)
    return {each for order in orders for each in order["digests"]}


def _rows(lake: SourceLake, table: str, which: str, **values: list[str]) -> Iterable[Any]:
    """Rows with a `key`, store by store."""
    of_table = 'FROM stored WHERE "table" = :table'
    for path, keys in (
        (lake.history(table), _VERSIONS),
        (lake.changes(table), _VERSIONS),
        (lake.deleted_keys(table), "SELECT _key AS key FROM stored"),
        (lake.moves(table), _MOVES),
        (lake.records(table), _ENTRIES),
        (lake.quarantine, f"SELECT record_key AS key {of_table}"),
        (lake.differences, f"SELECT key {of_table}"),
    ):
        stored = tables.opened(path)
        if stored is not None:
            sql = f"SELECT key FROM ({keys}) WHERE {which}"  # noqa: S608 - own words
            yield from tables.rows(stored, sql, table=table, **values)


def _made_up(cell: object) -> object:
    match cell:
        case bool():
            return True
        case int():
            return 5
        case _:
            return "A"
