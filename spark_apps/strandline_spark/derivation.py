"""The versions of all keys that a run touches: most by the short way, others by every stage."""

from strandline_spark import heads, orderly
from strandline_spark.deliveries import Deliveries
from strandline_spark.derive import Context, Derived, derive, derive_orderly
from strandline_spark.heads import Standing, Touched
from strandline_spark.orderly import Latest


def begun(known: Deliveries, context: Context) -> Derived:
    """The versions of a table that has none."""
    moves = known.moves is not None
    behind = latest(known, context)
    keys = heads.of_first_run(
        known.rows, context.run, known.moves, behind, shifts=context.rules.shifts
    )
    if not keys.orderly:
        return derive(known.rows, context, moves=moves)
    ordered = derive_orderly(keys.of(known.rows, orderly=True), context, keys, None)
    if keys.orderly == keys.count:
        return ordered
    return derive(keys.of(known.rows, orderly=False), context, moves=moves).beside(ordered)


def onto(known: Deliveries, keys: Touched, standing: Standing, context: Context) -> Derived:
    """The versions of all touched keys: of some onto their heads, of others from scratch."""
    if not keys.orderly:
        return _of_others(known, keys, standing, context)
    every, base = keys.orderly == keys.count, standing.heads
    if not every or standing.new_fences is not None:
        base = base.join(keys.rows.where("_orderly"), "_key", "left_semi")
    ordered = derive_orderly(keys.of(known.new, orderly=True), context, keys, base)
    if every:
        return ordered
    return _of_others(known, keys, standing, context).beside(ordered)


def latest(known: Deliveries, context: Context) -> Latest | None:
    """Behind which fences keys may be orderly; None where none may be."""
    return None if context.keyless or context.several else orderly.latest(known.fences)


def _of_others(known: Deliveries, keys: Touched, standing: Standing, context: Context) -> Derived:
    rows = known.new.join(keys.appended, "_key", "left_semi")
    base = standing.heads.join(keys.appended, "_key", "left_semi")
    if not keys.rederived:
        return derive(rows, context, heads=base)
    every = known.rows.join(keys.derived_anew, "_key", "left_semi")
    moves = standing.moves is not None
    if keys.rederived == keys.count - keys.orderly:
        return derive(every, context, moves=moves)
    return derive(rows.unionByName(every), context, heads=base, moves=moves)
