import random
import resource
import shutil
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, date, datetime

import pyarrow as pa
import pytest
from deltalake import DeltaTable, write_deltalake
from strandline_airflow.landing.kafka import KafkaSegments
from strandline_airflow.landing.zone import GAPS, LandingZone, Progress
from strandline_airflow.ledger import ROW_GROUP, Look
from strandline_airflow.page.findings import record as records

from bench.cases import landed
from examples.embedded_kafka import EmbeddedKafka
from strandline.cells import rendering
from strandline.changes.record import Coordinates, Record
from strandline.errors import Terminal, Transient
from strandline.runs.lake import SourceLake
from strandline.runs.segment import Gap, Landed, Segment

TOPIC = "shop.t"
TODAY = date(2026, 11, 20)
BUDGET = 1 << 20
NOON = datetime(2026, 11, 20, 12, tzinfo=UTC)


@dataclass
class Shop:
    """Topic `shop.t` with two partitions, and its landing table."""

    broker: EmbeddedKafka
    lake: SourceLake
    zone: LandingZone
    kafka: KafkaSegments
    topic_id: str

    def segment(self, start, end, partition=0):
        return Segment(TOPIC, self.topic_id, partition, start, end)

    def land(self, *segments, kafka=None, budget=BUDGET):
        return self.zone.land(kafka or self.kafka, segments, TODAY, budget)

    def rows(self, *columns):
        table = DeltaTable(self.lake.landing).to_pyarrow_table()
        ordered = table.sort_by([("partition", "ascending"), ("offset", "ascending")])
        return ordered.select(columns or ordered.column_names).to_pylist()

    def offsets(self):
        return [row["offset"] for row in self.rows("offset")]

    def version(self):
        return DeltaTable(self.lake.landing).version()

    def next_offset(self, partition=0, version=None):
        table = DeltaTable(self.lake.landing, version=version)
        return table.transaction_version(f"{self.topic_id}/{partition}")


@pytest.fixture
def shop(connected, lake, zone, kafka):
    connected.create_topic(TOPIC, 2)
    return Shop(connected, lake, zone, kafka, kafka.topic_ids([TOPIC])[TOPIC])


def test_a_record_is_landed_byte_for_byte(shop):
    payload = bytes(range(256))
    headers = (("h", b"\x00\xff"), ("h", b""), ("none", None))
    written = Record(Coordinates(TOPIC, 1, 0), 1_795_218_116_230, b"\x00key", payload, headers)
    shop.broker.replay([written])
    shop.land(shop.segment(0, 1, partition=1))
    assert shop.rows() == [
        {
            "topic": TOPIC,
            "topic_id": shop.topic_id,
            "partition": 1,
            "offset": 0,
            "timestamp": datetime(2026, 11, 20, 23, 41, 56, 230_000, tzinfo=UTC),
            "timestamp_type": 1,
            "leader_epoch": 0,
            "key": b"\x00key",
            "value": payload,
            "headers": [{"key": name, "value": value} for name, value in headers],
            "landed_date": TODAY,
        }
    ]


def test_a_missing_key_or_value_is_null_and_an_empty_one_is_empty(shop, record):
    shop.broker.replay([record(key=None, value=b""), record(key=b"", value=None)])
    shop.land(shop.segment(0, 2))
    assert [(row["key"], row["value"]) for row in shop.rows()] == [(None, b""), (b"", None)]


@pytest.mark.parametrize(
    ("millis", "time"),
    [
        (1_795_218_116_230_000_000, None),  # a producer that counts nanoseconds
        (1_795_218_116_230_000, None),
        (253_402_300_800_000, None),
        (253_402_300_799_999, datetime(9999, 12, 31, 23, 59, 59, 999_000, tzinfo=UTC)),
        (1, datetime(1970, 1, 1, microsecond=1000, tzinfo=UTC)),
    ],
)
def test_a_record_whose_time_no_calendar_has_is_landed_without_one(shop, record, millis, time):
    shop.broker.replay([record(timestamp=millis)])
    shop.land(shop.segment(0, 1))
    (row,) = shop.rows("offset", "timestamp", "timestamp_type")
    assert row == {"offset": 0, "timestamp": time, "timestamp_type": 1}
    (shown,) = records.record(shop.lake, TOPIC, 0, 0)
    assert shown.timestamp == str(rendering.plain(time) or "none")


def test_exactly_the_segment_is_landed(shop, records):
    shop.broker.replay(records(10))
    progress = shop.land(shop.segment(2, 7))
    assert shop.offsets() == [2, 3, 4, 5, 6]
    assert shop.next_offset() == 7
    assert progress == (Progress(TOPIC, shop.topic_id, 0, next_offset=7, rows=5),)


def test_landing_twice_changes_nothing(shop, records):
    shop.broker.replay(records(10))
    shop.land(shop.segment(0, 10))
    version = shop.version()
    shop.land(shop.segment(0, 10))
    assert shop.offsets() == list(range(10))
    assert shop.version() == version


def test_a_retry_goes_on_where_the_first_try_died(shop, records):
    shop.broker.replay(records(10))
    shop.land(shop.segment(0, 4))
    (progress,) = shop.land(shop.segment(0, 10))
    assert shop.offsets() == list(range(10))
    assert progress.rows == 10


def test_a_zombie_with_a_stale_start_changes_nothing(shop, records):
    shop.broker.replay(records(10))
    shop.land(shop.segment(0, 10))
    shop.land(shop.segment(3, 8))
    assert shop.offsets() == list(range(10))
    assert shop.next_offset() == 10


def test_chunks_are_committed_in_order_with_their_offsets(shop, records):
    shop.broker.replay(records(10))
    shop.land(shop.segment(0, 10), budget=100)
    reached = [shop.next_offset(version=version) for version in range(1, shop.version() + 1)]
    assert len(reached) > 2
    assert reached == sorted(reached)
    assert reached[-1] == len(shop.rows()) == 10


class Overtaken(KafkaSegments):
    """A client whose task is overtaken by `other` once it has read its first records."""

    other = staticmethod(lambda: None)

    def consume(self, *asked):
        for chunk in super().consume(*asked):
            other, self.other = self.other, lambda: None
            other()
            yield chunk


@pytest.mark.parametrize("budget", [100, BUDGET])
def test_of_two_tasks_that_land_the_same_segment_one_gives_way(shop, new_kafka, records, budget):
    shop.broker.replay(records(10))
    slow = new_kafka(Overtaken)
    slow.other = lambda: shop.land(shop.segment(0, 6))
    shop.land(shop.segment(0, 10), kafka=slow, budget=budget)
    assert shop.offsets() == list(range(10))


def test_a_commit_between_two_own_ones_is_noticed_too(shop, new_kafka, records):
    """The log alone would not refuse it: the second commit is made on top of the stranger's."""
    shop.broker.replay([*records(10), *records(10, partition=1)])
    slow = new_kafka(Overtaken)
    slow.other = lambda: shop.land(shop.segment(0, 5, partition=1))
    shop.land(shop.segment(0, 10), shop.segment(0, 10, partition=1), kafka=slow, budget=100)
    assert shop.offsets() == [*range(10), *range(10)]


def test_many_tasks_at_once_land_every_record_once(shop, new_kafka, records):
    shop.broker.replay(records(200))
    clients = [new_kafka() for _ in range(4)]
    all_at_once(lambda client: shop.land(shop.segment(0, 200), kafka=client, budget=5000), clients)
    assert shop.offsets() == list(range(200))


def test_a_topic_created_again_since_the_plan_is_not_landed_under_its_old_id(shop, records):
    shop.broker.delete_topic(TOPIC)
    shop.broker.create_topic(TOPIC, 2)
    shop.broker.replay(records(5))
    with pytest.raises(Terminal, match=f"no longer the one with id {shop.topic_id}.*next run"):
        shop.land(shop.segment(0, 5))
    assert shop.rows() == []


def test_the_offset_survives_a_checkpoint_of_the_log(shop, records):
    shop.broker.replay(records(3))
    shop.land(shop.segment(0, 3))
    DeltaTable(shop.lake.landing).create_checkpoint()
    assert shop.next_offset() == 3


def test_a_registered_partition_is_landed_from_its_first_offset(zone):
    zone.register([Landed(TOPIC, "id", 0, 5, 5)])
    assert zone.landed() == (Landed(TOPIC, "id", 0, 5, 5),)


def test_registering_twice_keeps_the_first_offset(zone):
    zone.register([Landed(TOPIC, "id", 0, 5, 5)])
    zone.register([Landed(TOPIC, "id", 0, 9, 9), Landed(TOPIC, "id", 1, 0, 0)])
    assert set(zone.landed()) == {Landed(TOPIC, "id", 0, 5, 5), Landed(TOPIC, "id", 1, 0, 0)}


def test_how_far_a_partition_is_landed_is_told_with_the_version_that_has_it(shop, records):
    shop.broker.replay(records(8))
    shop.zone.register([Landed(TOPIC, shop.topic_id, 0, 0, 0)])
    shop.land(shop.segment(0, 3))
    version, (state,) = shop.zone.newest()
    assert (version, state.next_offset) == (shop.zone.version(), 3)
    shop.land(shop.segment(3, 8))
    later, (state,) = shop.zone.newest()
    assert (later > version, state.next_offset) == (True, 8)


def test_at_one_look_a_task_sees_its_own_commits_and_no_others(zone, lake):
    look = LandingZone(lake, Look())
    look.register([Landed(TOPIC, "id", 0, 5, 5)])
    zone.register([Landed(TOPIC, "id", 1, 7, 7)])
    assert look.registered() == (Landed(TOPIC, "id", 0, 5, 5),)
    assert len(zone.registered()) == 2


def test_a_gap_is_recorded_once_and_the_next_plan_goes_on_behind_it(zone):
    gap = Gap(TOPIC, "id", 0, 5, 9)
    assert zone.record_gaps([gap], NOON) == (gap,)
    (moved,) = zone.past_gaps([Landed(TOPIC, "id", 0, 0, 5)])
    assert moved.next_offset == 9


def test_a_retry_of_the_run_that_recorded_a_gap_still_knows_it(zone):
    gap = Gap(TOPIC, "id", 0, 5, 9)
    zone.record_gaps([gap], NOON)
    assert zone.record_gaps([], NOON) == (gap,)
    assert zone.record_gaps([], NOON.replace(hour=13)) == ()


def test_gaps_are_recorded_beside_those_of_an_older_release(zone, lake):
    older = pa.schema([field for field in GAPS if field.name != "recorded_at"])
    row = {"topic": TOPIC, "topic_id": "id", "partition": 0, "start": 1, "end": 5, "seen_at": NOON}
    shutil.rmtree(lake.gaps)
    write_deltalake(lake.gaps, pa.Table.from_pylist([row], older))
    gap, later = Gap(TOPIC, "id", 0, 5, 9), NOON.replace(hour=13)
    assert zone.record_gaps([gap], later, later) == (gap,)
    assert zone.record_gaps([], NOON) == (Gap(TOPIC, "id", 0, 1, 5),)


def test_a_lake_that_cannot_be_written_is_named_with_a_remedy(lake, tmp_path):
    (tmp_path / "lake").write_text("a file where the lake should be")
    with pytest.raises(Terminal, match=rf"{lake.landing}: .*STRANDLINE_LAKE"):
        LandingZone(lake).ensure()


def test_a_lake_may_lie_in_a_folder_of_an_odd_name(shop, tmp_path, record):
    root = tmp_path / "5% off: it's #1?"
    shop.lake = SourceLake(str(root), "shop")
    shop.zone = LandingZone(shop.lake)
    shop.zone.ensure()
    shop.broker.replay([record(value=b"1")])
    shop.land(shop.segment(0, 1))
    assert (shop.offsets(), shop.next_offset()) == ([0], 1)
    assert (root / "shop" / "landing").is_dir()


@contextmanager
def full_disk():
    """No file of this process may grow beyond some kilobytes, as if the disk had no more."""
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (64 << 10, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))


def test_on_a_full_disk_nothing_is_committed_and_the_retry_lands_everything(shop, record):
    payload = random.Random(1).randbytes(200_000)  # noqa: S311 - bytes that do not compress
    shop.broker.replay([record(value=payload)])
    version = shop.version()
    with full_disk(), pytest.raises(Transient, match=shop.lake.landing):
        shop.land(shop.segment(0, 1))
    assert shop.version() == version
    assert shop.next_offset() is None
    shop.land(shop.segment(0, 1))
    assert [row["value"] for row in shop.rows("value")] == [payload]


def test_where_a_commit_fails_those_before_it_stand_and_the_retry_lands_the_rest(shop, record):
    payload = random.Random(1).randbytes(200_000)  # noqa: S311 - bytes that do not compress
    shop.broker.replay([record(value=value) for value in (b"1", payload, b"3", b"4", b"5")])
    with full_disk(), pytest.raises(Transient, match=shop.lake.landing):
        shop.land(shop.segment(0, 5), budget=50)
    assert (shop.offsets(), shop.next_offset()) == ([0], 1)
    shop.land(shop.segment(0, 5), budget=50)
    assert (shop.offsets(), shop.next_offset()) == ([0, 1, 2, 3, 4], 5)


def test_what_a_task_holds_in_memory_is_bounded_by_its_budget_whatever_arrived(shop, record):
    payload = random.Random(1).randbytes(100_000)  # noqa: S311 - bytes that do not compress
    shop.broker.replay([record(value=payload, partition=number % 2) for number in range(60)])
    budget, kept = 500_000, pa.default_memory_pool()
    pool = pa.proxy_memory_pool(kept)
    pa.set_memory_pool(pool)
    try:
        shop.land(shop.segment(0, 30), shop.segment(0, 30, partition=1), budget=budget)
    finally:
        pa.set_memory_pool(kept)
    assert len(shop.offsets()) == 60
    assert budget < pool.max_memory() < 4 * budget


def test_two_runs_may_create_the_tables_at_once(lake):
    all_at_once(lambda _: LandingZone(lake).ensure(), range(4))
    assert DeltaTable(lake.landing).version() == 0


def all_at_once(work, items):
    """Runs the work for every item in a thread of its own; raises what one of them raised."""
    items = list(items)
    with ThreadPoolExecutor(len(items)) as threads:
        list(threads.map(work, items))


def test_the_benchmark_lands_its_records_in_row_groups_of_the_same_size():
    assert landed.ROW_GROUP == ROW_GROUP
