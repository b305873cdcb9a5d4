"""A Kafka whose brokers die, change places and lose what they had, as landing sees it."""

from datetime import UTC, datetime

import pytest
from confluent_kafka import Producer
from strandline_airflow.landing import land_run
from strandline_airflow.landing.kafka import Unread

from strandline.errors import Transient

pytestmark = pytest.mark.heavy

NOON = datetime(2026, 11, 20, 12, tzinfo=UTC)


@pytest.fixture
def topic(shop, request):
    """A topic of one partition, of this test alone."""
    name = f"shop.public.{request.node.name[5:45]}"
    shop.broker.create_topic(name)
    return name


def send(shop, topic, *values):
    producer = Producer({"bootstrap.servers": shop.broker.bootstrap, "log_level": 0})
    for value in values:
        producer.produce(topic, value, partition=0)
    assert producer.flush(60) == 0


def land(shop, between=lambda: None):
    """Plans and lands, with something that happens in between; what failed of it."""
    planned = land_run.plan(shop.source, NOON)
    between()
    for group in planned.groups:
        land_run.land(shop.source, group, NOON)
    return planned.findings


def landed(shop, topic):
    rows = [row for row in shop.rows(shop.lake.landing) if row["topic"] == topic]
    return [row["value"] for row in sorted(rows, key=lambda row: (row["topic_id"], row["offset"]))]


def numbers(start, end):
    return [str(number).encode() for number in range(start, end)]


def in_sync(shop, topic):
    return {each.id for each in shop.broker.partitions(topic)[0].isr}


def all_in_sync(shop, topic):
    shop.broker.until(lambda: in_sync(shop, topic) == {1, 2, 3})


def test_a_leader_that_is_killed_between_plan_and_reading_loses_and_doubles_nothing(shop, topic):
    send(shop, topic, *numbers(0, 500))
    leader = shop.broker.leader(topic)
    land(shop, lambda: shop.broker.kill(leader))
    assert landed(shop, topic) == numbers(0, 500)
    assert shop.broker.leader(topic) != leader
    send(shop, topic, *numbers(500, 600))
    land(shop)
    assert landed(shop, topic) == numbers(0, 600)
    shop.broker.start(leader)
    all_in_sync(shop, topic)


def test_records_that_took_the_offsets_of_landed_ones_hold_their_topic_until_it_is_made_anew(shop):
    broker, topic, other = shop.broker, "shop.public.truncated", "shop.public.beside"
    broker.create_topic_on(topic, [1, 2])
    broker.create_topic(other)
    send(shop, topic, *numbers(0, 5))
    land(shop)
    broker.kill(2)
    broker.until(lambda: in_sync(shop, topic) == {1})
    send(shop, topic, *numbers(5, 10))
    land(shop)
    assert landed(shop, topic) == numbers(0, 10)
    broker.kill(1)
    broker.start(2)
    broker.until(lambda: broker.is_up(2) and broker.leader(topic) is None)
    broker.elect_uncleanly(topic)
    broker.until(lambda: broker.leader(topic) == 2)
    broker.start(1)
    send(shop, topic, *[b"other %d" % number for number in range(20)])
    send(shop, other, b"beside")
    with pytest.raises(
        Unread, match=r"truncated\[0\]: .*others have their offsets.*end offset is 5"
    ):
        land(shop)
    assert landed(shop, topic) == numbers(0, 10)
    assert landed(shop, other) == [b"beside"]
    given = {"topics": [topic], "start_offset": 5, "dry_run": False}
    assert set(shop.trigger("backfill", **given).values()) == {"success"}
    again = sorted(landed(shop, topic))
    assert again == sorted([*numbers(0, 10), *(b"other %d" % number for number in range(20))])
    broker.delete_topic(topic)
    broker.create_topic(topic)
    send(shop, topic, b"new")
    land(shop)
    assert sorted(landed(shop, topic)) == sorted([*again, b"new"])


def test_with_one_of_three_brokers_left_landing_names_the_connection_and_a_retry_heals(shop, topic):
    send(shop, topic, *numbers(0, 100))
    planned = land_run.plan(shop.source, NOON)
    leader = shop.broker.leader(topic)
    killed = [leader, next(node for node in (1, 2, 3) if node != leader)]
    for node in killed:
        shop.broker.kill(node)
    (group,) = planned.groups
    with pytest.raises(Transient, match=rf"{topic}.*Airflow connection 'kafka_shop'"):
        land_run.land(shop.source, group, NOON)
    for node in killed:
        shop.broker.start(node)
    all_in_sync(shop, topic)
    land(shop)
    assert landed(shop, topic) == numbers(0, 100)
