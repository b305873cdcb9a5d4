"""Several physical tables in one topic, which their keys do not tell apart, or several connectors.

The connector replaces in the names of topics what Kafka does not take, so that tables may share
one, and routers merge them. A row is known by its key: rows of two tables would be folded into one
without a word. So the table is held, unless the source file says that they are one table. It is
also held where two connectors have sent its records, which a source file alone would refuse.
"""

from collections import defaultdict
from collections.abc import Collection, Iterable, Sequence

from strandline.changes import scope
from strandline.changes.rekeyed import Identity
from strandline.connectors import Connector
from strandline.errors import Terminal

_SHOWN = 3
_OF_RELEASE_BEFORE = "+"  # it did not keep what keys call their tables


def check_connectors(connectors: Collection[Connector]) -> None:
    """Raises `Terminal` where there are several, whose positions do not compare."""
    if len(connectors) > 1:
        names = sorted(connector.names[0] for connector in connectors)
        raise Terminal(
            f"the topic has records of several connectors, {' and '.join(names)}, whose positions "
            "do not compare: give each of them topics of its own"
        )


def check(identities: Iterable[Identity]) -> None:
    """Raises `Terminal` where rows of two tables have keys of the same columns.

    Not where each key names the table of its row, and they name others.
    """
    tables: dict[tuple[str, tuple[str, ...]], set[str]] = defaultdict(set)
    for known, columns in identities:
        if known:
            mark, name = scope.physical(known)
            if mark != _OF_RELEASE_BEFORE:
                tables[mark, columns].add(name)
    for names in tables.values():
        whole = max(names, key=lambda name: (len(scope.parts(name)), name))
        if any(_are_apart(whole, name) for name in names):
            raise Terminal(_message(sorted(set(map(_shown, names)))))


def _are_apart(whole: str, name: str) -> bool:
    """Whether these are two tables. Flattened records may leave out the database or the schema."""
    if scope.is_same(whole, name):
        return False
    known, rest = scope.parts(name), iter(scope.parts(whole))
    return known[-1] != scope.parts(whole)[-1] or not all(part in rest for part in known)


def _shown(name: str) -> str:
    """A table's name for people, in which a part with dots has quotes."""
    return ".".join(f'"{part}"' if "." in part else part for part in scope.parts(name))


def _message(tables: Sequence[str]) -> str:
    shown, more = tables[:_SHOWN], len(tables) - _SHOWN
    *others, last = [*shown, f"{more} more"] if more > 0 else shown
    return (
        f"the topic has rows of several tables, {', '.join(others)} and {last}, and their keys do "
        "not tell them apart. Give each table a topic of its own: by a transformation, or by "
        "topic.naming.strategy=io.debezium.schema.SchemaUnicodeTopicNamingStrategy where names "
        "differ only in what topics do not take. If they are one table on purpose (shards, "
        "partitions, a table that was renamed), write `one_table = true` in the [[table]] section "
        "of this topic in the source file"
    )
