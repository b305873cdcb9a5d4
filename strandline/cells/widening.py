"""Widening: the one type that a column has when its records declared several.

Only what keeps every value exactly, and what a Delta table can do without being rewritten: integers
to wider integers and decimals, 32-bit integers and floats to double, decimals to more digits, dates
to local timestamps.
"""

from collections.abc import Collection, Container, Iterable
from dataclasses import replace
from datetime import date, datetime
from decimal import Decimal
from itertools import combinations

from strandline.cells.types import MAX_PRECISION, TEXT, ColumnType, Kind
from strandline.cells.values import exact
from strandline.changes import key
from strandline.errors import Terminal

_INTEGERS = {Kind.INT16: 5, Kind.INT32: 10, Kind.INT64: 20}  # and the digits that a decimal needs
_FLOATS = (Kind.FLOAT, Kind.DOUBLE)
_BREADTH = {kind: place for place, kind in enumerate(Kind)}


def common(column: str, types: Iterable[ColumnType], texts: Container[str] = ()) -> ColumnType:
    """The type that holds the values of all `types`, in whichever order they came.

    `texts` are the columns that the table's contract keeps as texts, which hold any value. Raises
    `Terminal` where there is no such type: the table stops, until its contract says what to do.
    """
    if column in texts:
        return TEXT
    distinct = list(dict.fromkeys(types))
    found = _joined(distinct)
    if found is not None:
        return found
    # A decimal's digits before and behind the point may come of two others: some pair is at odds.
    a, b = next(pair for pair in combinations(distinct, 2) if _joined(pair) is None)
    raise Terminal(
        f"column '{column}' changed its type from {_called(a)} to {_called(b)}, and neither holds "
        f"the other's values: declare {column} = \"string\" in the table's 'columns', which keeps "
        "both as texts, unless it is a column of the key; or, where its records have no schema, "
        "declare its type there. Then rebuild a history that Airflow made: replay__SOURCE, 'swap'"
    )


def _joined(types: Iterable[ColumnType]) -> ColumnType | None:
    """The widest takes in the others: a double holds integers and floats, which do not join."""
    widest, *others = sorted(types, key=lambda of: _BREADTH[of.kind], reverse=True)
    for of in others:
        wider = widest if _is_same(widest, of) else widened(widest, of) or widened(of, widest)
        if wider is None:
            return None
        widest = wider
    return widest


def _is_same(a: ColumnType, b: ColumnType) -> bool:
    """Whether both mean the same: a time of day is stored as a number, and is none."""
    return a.kind is b.kind and a.spark == b.spark


def _called(of: ColumnType) -> str:
    return of.kind.value if of.kind is Kind.TIME else of.spark


def widened(narrow: ColumnType, wide: ColumnType) -> ColumnType | None:
    """The type that a `narrow` column gets to take values of type `wide`; None: it cannot."""
    if _is_same(narrow, wide):
        return narrow
    if narrow.kind in _INTEGERS:
        return _from_integer(narrow, wide)
    if narrow.kind is Kind.DECIMAL and wide.kind is Kind.DECIMAL:
        return _decimal(narrow.precision - narrow.scale, narrow.scale, wide)
    if narrow.kind is Kind.FLOAT and wide.kind is Kind.DOUBLE:
        return wide
    return wide if narrow.kind is Kind.DATE and wide.kind is Kind.LOCAL else None


def _from_integer(narrow: ColumnType, wide: ColumnType) -> ColumnType | None:
    digits = _INTEGERS[narrow.kind]
    if wide.kind in _INTEGERS:
        return wide if _INTEGERS[wide.kind] > digits else None
    if wide.kind is Kind.DECIMAL:
        return _decimal(digits, 0, wide)
    exact = wide.kind is Kind.DOUBLE and narrow.kind is not Kind.INT64
    return wide if exact else None


def _decimal(whole: int, scale: int, wide: ColumnType) -> ColumnType | None:
    whole, scale = max(whole, wide.precision - wide.scale), max(scale, wide.scale)
    if whole + scale > MAX_PRECISION:
        return None
    return replace(wide, precision=whole + scale, scale=scale)


def written_alike(types: Collection[ColumnType]) -> ColumnType | None:
    """The widest of types whose values are written in one way; None where that is not so."""
    if not types:
        return None
    widest, *others = sorted(types, key=lambda of: _BREADTH[of.kind], reverse=True)
    alike = all((of.wire, of.scale) == (widest.wire, widest.scale) for of in others)
    return widest if alike else None


def stored(spark: str) -> ColumnType:
    """The type of a stored column by its Spark name: what it holds, however it was sent."""
    name, _, arguments = spark.removesuffix(")").partition("(")
    if arguments:
        precision, scale = (int(number) for number in arguments.split(","))
        return ColumnType(Kind.DECIMAL, precision=precision, scale=scale)
    return ColumnType(Kind(name))


def widen(value: object, of: ColumnType | None, to: ColumnType) -> object:
    """The same value in the wider type; `of` is the type that it was declared with."""
    match value:
        case None | str():
            return value
        case _ if to.kind is Kind.TEXT:
            return key.text(value)
        case bool():
            return value
        case int() | Decimal() if to.kind is Kind.DECIMAL:
            sign, digits, exponent = Decimal(value).as_tuple()
            zeros = [0] * (int(exponent) + to.scale)
            return Decimal((sign, (*digits, *zeros), -to.scale))
        case int() if to.kind in _FLOATS:
            return float(value)
        case float() if of is not None and of.kind is Kind.FLOAT and to.kind is Kind.DOUBLE:
            return exact(value)
        case datetime():
            return value
        case date() if to.kind is Kind.LOCAL:
            return datetime(value.year, value.month, value.day)  # noqa: DTZ001 - local, no zone
        case _:
            return value
