"""A leader that is killed while its records are landed: none is lost, and none lands twice."""

import pytest

pytestmark = pytest.mark.heavy


def test_a_leader_that_is_killed_between_plan_and_reading_loses_and_doubles_nothing(topic):
    broker = topic.shop.broker
    topic.send(500)
    group, leader = topic.plan(), broker.leader(topic.name)
    broker.kill(leader)
    topic.land(group)
    assert topic.landed() == topic.sent
    broker.until(lambda: broker.leader(topic.name) not in {None, leader})
    topic.send(100)
    topic.land()
    assert topic.landed() == topic.sent


@pytest.mark.usefixtures("in_small_bites")
def test_a_leader_that_is_killed_between_two_chunks_loses_and_doubles_nothing(topic, at):
    broker = topic.shop.broker
    topic.send(2000)
    leader = broker.leader(topic.name)
    topic.land(before=at(2, lambda: broker.kill(leader)))
    assert topic.landed() == topic.sent
    assert broker.leader(topic.name) not in {None, leader}
