"""Records that the brokers lose after they were landed, while others take their offsets."""

from datetime import UTC, datetime

import pytest
from samples.events import Stream
from strandline_airflow.landing import land_run
from strandline_airflow.landing.complaints import Unread

pytestmark = pytest.mark.heavy

NOON = datetime(2026, 11, 20, 12, tzinfo=UTC)
TOPIC = "shop.public.truncated"


@pytest.fixture(scope="module")
def truncated(shop):
    """A topic of which one broker has three changes and the other, which leads, six others."""
    broker = shop.broker
    broker.place_topic(TOPIC, [[1, 2]], **{"min.insync.replicas": "1"})
    stream = Stream(TOPIC)
    stream.change("c", 1, 10, name="ada")
    stream.change("c", 2, 20, name="bob")
    broker.replay(stream.records)
    shop.land()
    broker.kill(2)
    broker.until(lambda: broker.in_sync(TOPIC) == [1])
    broker.replay([stream.change("u", 1, 30, name="eve")])
    shop.land()
    broker.replay([stream.change("u", 2, 40, name="joe")])  # is never landed
    broker.kill(1)
    broker.start(2)
    broker.until(lambda: 2 in broker.alive() and broker.leader(TOPIC) is None)
    broker.elect_uncleanly(TOPIC, 2)
    broker.mend()
    for at, name in ((50, "max"), (60, "ann"), (70, "ivy")):
        broker.replay([stream.change("u", 1, at, name=name)])
    return shop


def test_records_that_took_the_offsets_of_landed_ones_hold_their_partition_and_no_other(truncated):
    beside = Stream("shop.public.beside")
    truncated.broker.create_topic(beside.topic)
    truncated.broker.replay([beside.change("c", 1, 10, name="sue")])
    (group,) = land_run.plan(truncated.source, NOON).groups
    named = r"truncated\[0\]: the brokers lost records .* broker end offset is 2 .*start_offset"
    with pytest.raises(Unread, match=named):
        land_run.land(truncated.source, group, NOON)
    assert landed(truncated, TOPIC) == [0, 1, 2]
    assert landed(truncated, beside.topic) == [0]
    assert truncated.trigger("land")["report"] == "upstream_failed"


def test_what_the_error_says_brings_all_that_the_brokers_have_and_ends_it(truncated):
    broker = truncated.broker
    given = {"topics": [TOPIC], "partition": 0, "start_offset": 2, "dry_run": False}
    assert set(truncated.trigger("backfill", **given).values()) == {"success"}
    broker.delete_topic(TOPIC)
    broker.create_topic(TOPIC)
    anew = Stream(TOPIC)
    anew.change("r", 1, 80, name="ivy")
    anew.change("r", 2, 80, name="joe")
    broker.replay(anew.records)
    truncated.land()
    assert set(truncated.trigger("compact").values()) == {"success"}
    assert truncated.history(table="public.truncated") == [
        "1: ada|update",
        "1: eve|update",
        "1: max|update",
        "1: ann|update",
        "1: ivy",
        "2: bob|snapshot_correction",
        "2: joe",
    ]


def landed(shop, topic):
    rows = [row for row in shop.rows(shop.lake.landing) if row["topic"] == topic]
    return sorted(row["offset"] for row in rows)
