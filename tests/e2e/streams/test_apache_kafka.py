"""A broker as companies run it: Apache Kafka, with times, transactions and a log on disk."""

import signal
from datetime import UTC, datetime, timedelta

import pytest
from confluent_kafka import Producer
from samples.events import EPOCH_MS

pytestmark = pytest.mark.heavy

TOPIC = "shop.public.item"


@pytest.fixture(scope="module")
def shop(shop_on_apache_kafka):
    """Four changes of one row, each a millisecond after the one before."""
    shop = shop_on_apache_kafka
    for op, at, name in (("c", 10, "ada"), ("u", 20, "bob"), ("u", 30, "eve"), ("u", 40, "joe")):
        shop.stream.change(op, 1, at, name=name)
    shop.arrive()
    return shop


def moment(offset):
    """The Kafka time of the record there."""
    return (
        datetime.fromtimestamp(EPOCH_MS / 1000, UTC) + timedelta(milliseconds=offset)
    ).isoformat()


def test_what_a_real_broker_has_is_landed_and_applied(shop):
    assert shop.history() == ["1: ada|update", "1: bob|update", "1: eve|update", "1: joe"]


def test_a_span_of_time_is_landed_again(shop):
    story = shop.history()
    before = {row["topic_id"] for row in shop.rows(shop.lake.landing)}
    span = {"since": moment(1), "until": moment(3)}
    states = shop.trigger("backfill", topics=[TOPIC], **span, dry_run=False)
    assert set(states.values()) == {"success"}
    rows = shop.rows(shop.lake.landing)
    assert sorted(row["offset"] for row in rows if row["topic_id"] not in before) == [1, 2]
    shop.arrive()
    assert shop.history() == story
    assert shop.published().counts.duplicates == 2


def test_what_an_aborted_transaction_sent_is_not_landed(shop):
    before = len(shop.rows(shop.lake.landing))
    writer = Producer({"bootstrap.servers": shop.broker.bootstrap, "transactional.id": "writer"})
    writer.init_transactions()
    writer.begin_transaction()
    writer.produce(TOPIC, b"not to be seen", partition=0)
    writer.flush()
    writer.abort_transaction()
    shop.stream.skip(2)  # the record and the mark of its end
    shop.stream.change("u", 1, 50, name="max")
    shop.arrive()
    assert shop.history()[-1] == "1: max"
    assert len(shop.rows(shop.lake.landing)) == before + 1


def test_a_broker_that_was_killed_goes_on_with_what_it_had(shop):
    shop.broker.stop(signal.SIGKILL)
    assert shop.trigger("land")["plan"] == "failed"
    shop.broker.start()
    shop.stream.change("u", 1, 60, name="ann")
    shop.arrive()
    assert shop.history()[-2:] == ["1: max|update", "1: ann"]
    assert shop.published().counts.landed == 1


def test_partitions_that_are_added_are_landed(shop):
    shop.broker.add_partitions(TOPIC, 3)
    shop.stream.change("c", 2, 70, name="ivy", partition=2)
    shop.arrive()
    assert shop.history()[-1] == "2: ivy"


def test_a_topic_that_was_made_anew_is_landed_from_its_start(shop):
    shop.broker.delete_topic(TOPIC)
    shop.broker.create_topic(TOPIC, 2)
    shop.stream.records.clear()
    shop.sent = 0
    shop.stream.change("u", 2, 80, name="zoe")
    shop.arrive()
    assert shop.history()[-2:] == ["2: ivy|update", "2: zoe"]
