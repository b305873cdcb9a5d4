"""Broken records in Spark: what the law refuses is refused, and harms no other record.

Damage of every kind (`workloads.damage`) to the records of several workloads, in one run. One
broken record must not change what the others of its table mean: not their columns, not their types.
"""

from collections import defaultdict

import pytest
from strandline_spark.engine import spark as in_spark
from workloads import Choices
from workloads.capture import packed
from workloads.damage import damaged

from strandline import engine
from strandline.cells import rendering

_WORKLOADS, _SEED = 3, 9_000_000


def broken(source):
    captures, records = packed(source, _WORKLOADS, _SEED)
    choices = Choices.seeded(_SEED)
    topics = {topic for capture in captures for topic in capture.truth}
    return [
        damaged(choices, record) if record.at.topic in topics and choices.chance(8) else record
        for record in records
    ]


def by_topic(records):
    found = defaultdict(dict)
    for each in records:
        found[each.at.topic][each.at] = each.reason
    return found


def printed(rows):
    found = defaultdict(list)
    for topic, cells in rows:
        found[topic].append(rendering.line(topic, cells))
    return found


@pytest.mark.heavy
@pytest.mark.parametrize("source", ["postgresql", "oracle"])
@pytest.mark.usefixtures("spark")
def test_broken_records_are_refused_in_spark_and_harm_no_other(source):
    records = broken(source)
    expected = engine.python(records, batches=1, source=None)
    found = in_spark(records, batches=1, source=None)
    held = dict(expected.stopped)
    assert dict(found.stopped).keys() == held.keys()
    assert found.counts.conserved
    assert found.counts.landed == sum(record.at.topic not in held for record in records)
    refused, wanted = by_topic(found.quarantined), by_topic(expected.quarantined)
    made, right = printed(found.rows), printed(expected.rows)
    for topic in {record.at.topic for record in records} - held.keys():
        # Spark also refuses keys that their own schema does not describe.
        assert wanted[topic].items() <= refused[topic].items()
        if wanted[topic] == refused[topic]:
            assert made[topic] == right[topic]
