"""Rows of plain keys that pass by in batches have the versions that they have all at once."""

import json

import pytest

from bench.core.records import TOPIC, partial, plain
from strandline.connectors import CONNECTORS
from strandline.law.decode.general import Decoder
from strandline.law.decode.typed import Typed
from strandline.law.facts.survey import columns_of
from strandline.law.landed import COLUMNS, Landed
from strandline.law.plain.fold import Fences
from strandline.law.plain.keys import PlainKeys
from strandline.law.plain.passing import NotPlainError, passing

CONNECTOR = CONNECTORS["postgresql"]
NO_FENCES = Fences((), (), frozenset(), ())


def by_key(landed):
    """The numbers of records by key and offset, as a sort hands them to the fold."""
    order = range(len(landed))
    return sorted(order, key=lambda n: (json.loads(landed.key[n])["id"], landed.offset[n]))


def only(landed, numbers):
    return Landed(TOPIC, *[[getattr(landed, name)[n] for n in numbers] for name in COLUMNS])


def passed(given, size):
    """Each version as a dictionary, of records that come so many at a time."""
    decoder = Decoder(CONNECTOR, given.rules)
    keys = PlainKeys.of(TOPIC, decoder)
    facts, _ = keys.add(keys.landed.extend(given.landed))
    columns = columns_of(facts, frozenset())
    order = by_key(given.landed)
    batches = (only(given.landed, order[n : n + size]) for n in range(0, len(order), size))
    found = []
    for fields, business in passing(batches, Typed(decoder), columns, NO_FENCES, CONNECTOR):
        names = [*fields, *(f"row.{name}" for name in business)]
        found += [
            dict(zip(names, of, strict=True))
            for of in zip(*fields.values(), *business.values(), strict=True)
        ]
    return found


@pytest.mark.parametrize("make", [plain, partial])
@pytest.mark.parametrize("size", [1, 7, 100])
def test_batches_of_any_size_give_the_versions_of_one(make, size):
    given = make(600)
    whole = passed(given, len(given))
    assert len(whole) == given.versions
    assert passed(given, size) == whole


def test_a_record_that_comes_twice_cannot_pass_by():
    given = plain(50)
    twice = given.landed
    twice.value[1], twice.key[1] = twice.value[0], twice.key[0]
    with pytest.raises(NotPlainError):
        passed(given, 10)
