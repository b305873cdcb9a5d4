"""Keys that go on from their last versions, piece by piece."""

from dataclasses import fields
from itertools import pairwise

import pytest
from samples.events import Stream

from bench.core.records import TOPIC, plain
from strandline.cells.instants import micros
from strandline.changes.rules import TableRules
from strandline.connectors import CONNECTORS
from strandline.engine import recorded_at
from strandline.formats.schema_history import SchemaHistory
from strandline.law import in_runs
from strandline.law.continuation import Announced
from strandline.law.landed import COLUMNS, Landed
from strandline.law.onward import Piece, Runner
from strandline.law.plain.continued import Heads
from strandline.law.plain.transit import Transit
from strandline.law.shard import Known, Making, Reader
from strandline.law.versions import FIELDS

CONNECTOR = CONNECTORS["postgresql"]
NO_HEADS = Heads({name: [] for name in FIELDS}, [], [], [])


def only(landed, numbers):
    return Landed(TOPIC, *[[getattr(landed, name)[n] for n in numbers] for name in COLUMNS])


def of_one_key(given):
    """The records of the key with the most of them, in their order."""
    keys = given.landed.key
    busy = max(set(keys), key=keys.count)
    return only(given.landed, [n for n, key in enumerate(keys) if key == busy])


def known_of(rules, landed, topic=TOPIC):
    """What is known of a table when these records have been read."""
    known = Known(Making(topic, CONNECTOR, rules, recorded_at([])), Announced(SchemaHistory(), ()))
    return known.with_facts(Reader.of(known).read(landed).facts)


def piece(transit, keys, numbers, *, goes_on):
    """Some of the records on their way."""
    columns = ([getattr(transit, of.name)[n] for n in numbers] for of in fields(transit))
    return Piece(NO_HEADS, Transit(*columns), [keys[n] for n in numbers], goes_on=goes_on)


def folded(given, landed, size):
    """What becomes of the key, of pieces of so many records."""
    # A tombstone is never parted from the delete before it.
    places = [n for n in range(0, len(landed), size) if landed.value[n] is not None]
    known = known_of(given.rules, landed)
    read = Reader.of(known, hands_on=True).read(landed)
    pieces = [
        piece(read.transit, read.keys, range(place, end), goes_on=end < len(landed))
        for place, end in pairwise([*places, len(landed)])
    ]
    return list(Runner.of(known, None).run(pieces))


@pytest.mark.parametrize("size", [1, 2, 3, 100])
def test_pieces_of_any_size_make_the_versions_of_one(size):
    given = plain(2_000)
    landed = of_one_key(given)
    made = folded(given, landed, size)
    records = [landed.record(n) for n in range(len(landed))]
    (table,) = in_runs([records], CONNECTOR, rules=lambda _: given.rules).tables
    begun = [seq for each in made for seq in each.fields["seq_from"]]
    times = [at for each in made for at in each.fields["valid_to"]]
    assert begun == [version.seq_from for version in table.versions]
    assert times == [v.valid_to and micros(v.valid_to) for v in table.versions]
    assert len(begun) > 3
    (told,) = [each for each in made if each.keys]
    assert told.stood == [None]
    assert told.changes[0] + told.absorbed[0] == len(landed)
    assert [is_last for each in made for is_last in each.is_last].count(True) == 1


def test_a_record_that_comes_twice_leaves_its_key_whatever_came_before():
    given = plain(2_000)
    landed = of_one_key(given)
    twice = only(landed, [*range(len(landed)), 1])
    twice.offset[-1] = twice.offset[-2] + 1
    made = folded(given, twice, 1)
    assert made[-1].left == {landed.key[0].decode()}
    assert all(not each.keys for each in made)


def test_a_version_of_the_piece_before_is_of_this_run_though_nothing_changes_it_since():
    s = Stream()
    s.change("c", 1, 10, name="A")
    s.change("u", 1, 20, name="A")
    landed = Landed(s.topic)
    landed.add(s.records)
    known = known_of(TableRules(), landed, s.topic)
    read = Reader.of(known, hands_on=True).read(landed)
    one, other = (piece(read.transit, read.keys, [n], goes_on=n == 0) for n in (0, 1))
    _, last = Runner.of(known, None).run([one, other])
    assert (last.recorded, last.changes) == ([None], [2])
