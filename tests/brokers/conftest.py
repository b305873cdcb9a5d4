"""Source `shop` on a Kafka of three brokers, of which tests kill some."""

import itertools
from dataclasses import dataclass, field
from datetime import UTC, datetime

import pytest
from confluent_kafka import Producer
from stages.airflow_stage import kafka_connection
from stages.brokers_stage import ThreeBrokers
from stages.shop_stage import Shop, opened
from strandline_airflow.landing import land_run
from strandline_airflow.landing.kafka import PATIENCE_SECONDS, KafkaSegments
from strandline_airflow.landing.zone import LandingZone

NOON = datetime(2026, 11, 20, 12, tzinfo=UTC)


@pytest.fixture(scope="session")
def shop(tmp_path_factory):
    folder = tmp_path_factory.mktemp("shop")
    with ThreeBrokers() as brokers, opened(folder, brokers, None, 'engine = "alone"\n') as shop:
        yield shop


@pytest.fixture(autouse=True)
def _mended(shop):
    yield
    shop.broker.mend()


@dataclass
class Topic:
    """A topic of one test, as Kafka and the lake have it: values by partition and offset."""

    shop: Shop
    name: str
    sent: dict[int, list[bytes]] = field(default_factory=dict)

    def send(self, count, partition=0):
        """Sends so many records, each with its offset as value, in batches of a few."""
        config = {"bootstrap.servers": self.shop.broker.bootstrap, "batch.num.messages": 20}
        producer = Producer({**config, "enable.idempotence": True, "log_level": 0})
        values = self.sent.setdefault(partition, [])
        for _ in range(count):
            values.append(b"%01000d" % len(values))
            producer.produce(self.name, values[-1], partition=partition)
        assert producer.flush(60) == 0

    def landed(self):
        """What the lake has, in the order of the offsets."""
        found = {}
        rows = [row for row in self.shop.rows(self.shop.lake.landing) if row["topic"] == self.name]
        for row in sorted(rows, key=lambda row: (row["partition"], row["offset"])):
            found.setdefault(row["partition"], []).append(row["value"])
        return found

    def plan(self):
        (group,) = land_run.plan(self.shop.source, NOON).groups
        return group

    def land(self, group=None, before=lambda: None, patience=PATIENCE_SECONDS):
        """Lands what is planned, a hundred records to a commit, and acts before each of those."""
        source = self.shop.source
        zone = LandingZone(self.shop.lake)
        with KafkaSegments(source.kafka_connection, "strandline.shop", patience) as kafka:
            return zone.land(kafka, group or self.plan(), NOON.date(), 100_000, lambda _: before())


@pytest.fixture
def topic(shop, request):
    """A topic of one partition for each broker, which leads it."""
    name = f"shop.public.{request.node.name[5:45]}"
    shop.broker.create_topic(name, 3)
    return Topic(shop, name)


@pytest.fixture
def in_small_bites(shop, monkeypatch):
    """The client has read little ahead of what it hands over: some 60 records of 2,000."""
    bites = {"fetch.message.max.bytes": 32_000, "queued.max.messages.kbytes": 32}
    monkeypatch.setenv("AIRFLOW_CONN_KAFKA_SHOP", kafka_connection(shop.broker.bootstrap, **bites))


@pytest.fixture
def at():
    """Makes of an act one that is done the nth time that it is called."""

    def at(times, act):
        calls = itertools.count(1)
        return lambda: act() if next(calls) == times else None

    return at
