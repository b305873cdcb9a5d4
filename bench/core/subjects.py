"""The law under test, the one module here that knows it.

Whoever writes another law changes these functions and nothing else. Each is given everything that
it needs before the clock starts, and returns what it has made: the runner counts it after the clock
has stopped, since a fast wrong answer is none. A subject that is None is not measured.
"""

from collections.abc import Callable, Iterable, Sequence, Sized
from datetime import UTC, datetime

from bench.core.records import Records
from strandline.changes.change import Quarantined
from strandline.connectors import CONNECTORS
from strandline.interpreter import interpret
from strandline.interpreter.decode import Decoder, Outcome

_CONNECTOR = CONNECTORS["postgresql"]
_RECORDED_AT = datetime(2026, 11, 20, tzinfo=UTC)


def decode(records: Records) -> Sized:
    """What the records are, one by one; those that could not be read are left out."""
    return _decoded(records)


def general(records: Records) -> Sized:
    """The same by the decoder that reads everything; today there is no other."""
    return _decoded(records)


def history(records: Records) -> Sized:
    """Record to version: decode, tell deliveries apart, link, fold."""
    rules = records.rules
    found = interpret(records.rows, _CONNECTOR, _RECORDED_AT, lambda _: rules)
    return found.tables[0].versions


# Given records, makes of them rows sorted by key and position, which is not timed, and returns what
# folds these rows into versions, which is.
fold: Callable[[Records], Callable[[], Sized]] | None = None

# Given the batches of a key with millions of changes, gives its versions as they are ready: both
# pass by, and nobody else keeps them. What it holds besides the batch in hand is measured.
hot_key: Callable[[Iterable[Records]], Iterable[object]] | None = None


def _decoded(records: Records) -> Sequence[Outcome]:
    decoder = Decoder(_CONNECTOR, records.rules)
    found = [decoder.decode(record) for record in records.rows]
    return [outcome for outcome in found if not isinstance(outcome, Quarantined)]
