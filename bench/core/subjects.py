"""The law under test, the one module here that knows it.

Whoever writes another law changes these functions and nothing else. Each is given everything that
it needs before the clock starts, and returns what it has made: the runner counts it after the clock
has stopped, since a fast wrong answer is none. A subject that is None is not measured.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence, Sized
from datetime import UTC, datetime
from itertools import chain

from bench.core.records import CONTRACT, TOPIC, Records
from bench.core.records import columns as landed_columns
from strandline.changes.change import Quarantined
from strandline.changes.record import Record
from strandline.connectors import CONNECTORS
from strandline.formats.schema_history import SchemaHistory
from strandline.law import Stream
from strandline.law.continuation import Announced
from strandline.law.decode.general import Decoder, Outcome
from strandline.law.facts import Facts
from strandline.law.facts.survey import columns_of
from strandline.law.landed import Landed
from strandline.law.onward import Piece, Runner
from strandline.law.plain.continued import Heads
from strandline.law.plain.fold import Fences
from strandline.law.plain.keys import PlainKeys
from strandline.law.shard import Known, Making, Read, Reader
from strandline.law.versions import FIELDS, Versions

_CONNECTOR = CONNECTORS["postgresql"]
_RECORDED_AT = datetime(2026, 11, 20, tzinfo=UTC)
_NO_FENCES = Fences((), (), frozenset(), ())
_NO_HEADS = Heads({name: [] for name in FIELDS}, [], [], [])


def decode(records: Records) -> Sized:
    """Rows and facts of landed records, as columns; each is a row, or the tombstone of one."""
    keys, (_, left) = _decoded(records)
    if left:
        raise ValueError(f"{len(left)} records are for the general decoder")
    return range(keys.changes + keys.absorbed)


def general(records: Records) -> Sized:
    """What the records are, one by one, by the decoder that reads everything."""
    decoder = _decoder(records)
    found: list[Outcome] = [decoder.decode(record) for record in records.rows]
    return [outcome for outcome in found if not isinstance(outcome, Quarantined)]


def fold(records: Records) -> Callable[[], Sized]:
    """Versions of rows that have been decoded, and lie by key and position."""
    keys, (facts, _) = _decoded(records)
    columns = columns_of(facts, frozenset(), {})
    tracked = list(columns)

    def run() -> Sized:
        keys.standing.clear()
        if keys.fold(columns, tracked, _NO_FENCES, _CONNECTOR, None):
            raise ValueError("some keys are not plain")
        return range(sum(len(keys.made(key)) for key in keys.standing))

    run()  # puts cells into the columns of the table, once
    return run


def history(records: Records) -> Sized:
    """Record to version: from the columns of a landing batch to those of versions."""
    rules = records.rules
    stream = Stream(_CONNECTOR, lambda _: rules, _RECORDED_AT, schemas=records.schemas)
    stream.landed(TOPIC, stream.table(TOPIC).plain.landed.extend(landed_columns(records.table)))
    versions = stream.found[TOPIC].versions
    if not isinstance(versions, Versions):
        raise TypeError(stream.found[TOPIC].error)
    return versions.columns()[0]["key"]


def hot_key(batches: Iterable[Records]) -> Iterator[object]:
    """The versions of a key with millions of changes, as they are ready.

    Records and versions pass by, and nobody else keeps them. What this holds besides the batch in
    hand is measured.
    """
    remaining = iter(batches)
    landed = (each.landed for each in remaining)
    first = next(landed)
    known = _known(first)
    reader = Reader.of(known, hands_on=True)
    every = chain([first], landed)
    del first  # which nobody is to keep
    yield from Runner.of(known, None).run(_piece(reader.read(each)) for each in every)


def _piece(read: Read) -> Piece:
    keys = [key for key in read.keys if key is not None]
    if read.transit is None:
        raise ValueError("nothing is handed on")
    return Piece(_NO_HEADS, read.transit, keys, goes_on=True)


def _known(landed: Landed) -> Known:
    """What is known of a table of which one batch says all that is to be known."""
    making = Making(TOPIC, _CONNECTOR, CONTRACT, _RECORDED_AT)
    known = Known(making, Announced(SchemaHistory(), ()))
    return known.with_facts(Reader.of(known).read(landed).facts)


def _decoded(records: Records) -> tuple[PlainKeys, tuple[Facts, Sequence[Record]]]:
    keys = PlainKeys.of(TOPIC, _decoder(records))
    return keys, keys.add(keys.landed.extend(records.landed))


def _decoder(records: Records) -> Decoder:
    return Decoder(_CONNECTOR, records.rules, SchemaHistory(schemas=records.schemas))
