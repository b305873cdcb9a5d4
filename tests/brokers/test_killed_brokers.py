"""Brokers of three that are killed while records of all of them are landed."""

import pytest

from strandline.errors import Transient

pytestmark = pytest.mark.heavy

COUNT = 2000


@pytest.mark.usefixtures("in_small_bites")
def test_a_broker_that_dies_and_comes_back_while_all_are_read_loses_and_doubles_nothing(topic, at):
    broker = topic.shop.broker
    for partition in range(3):
        topic.send(COUNT, partition)
    acts = [at(3, lambda: broker.kill(2)), at(20, lambda: broker.start(2))]
    topic.land(before=lambda: [act() for act in acts])
    assert topic.landed() == topic.sent


@pytest.mark.usefixtures("in_small_bites")
def test_with_one_of_three_brokers_left_landing_names_the_connection_and_a_retry_heals(topic, at):
    broker = topic.shop.broker
    topic.send(COUNT)
    group, leader = topic.plan(), broker.leader(topic.name)
    killed = [leader, next(node for node in (1, 2, 3) if node != leader)]
    with pytest.raises(Transient, match="Airflow connection 'kafka_shop'"):
        topic.land(group, at(2, lambda: [broker.kill(node) for node in killed]), patience=5)
    assert 0 < len(topic.landed()[0]) < COUNT
    broker.mend()
    topic.land(group)
    assert topic.landed() == topic.sent
