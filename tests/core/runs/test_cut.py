import pytest

from strandline.errors import Terminal
from strandline.runs.cut import Pin, next_manifest, waiting
from strandline.runs.manifest import Manifest, OffsetRange, TableCut
from strandline.runs.segment import Landed
from strandline.sources import source as source_file

PIN = Pin(number=3, planned_at="2026-11-20T12:00:00.000000+00:00", landing_version=7)
ORDERS = "inventory.public.orders"


@pytest.fixture
def source(tmp_path):
    path = tmp_path / "inventory.toml"
    path.write_text(
        'connector = "postgresql"\nlake = "/lake"\n[kafka]\ntopic_prefix = "inventory"\n'
        '[[table]]\ntopic = "other.public.orders"\nname = "public.orders"\n'
    )
    return source_file.load(path, {})


def landed(topic, next_offset, partition=0, topic_id=None, first_offset=0):
    return Landed(topic, topic_id or f"id-{topic}", partition, first_offset, next_offset)


def offsets(topic, start, end, partition=0, topic_id=None):
    return OffsetRange(topic, topic_id or f"id-{topic}", partition, start, end)


def test_a_first_run_applies_everything_landed(source):
    manifest = next_manifest(source, PIN, [landed(ORDERS, 5, first_offset=2)], {})
    assert manifest == Manifest(
        source="inventory",
        connector="postgresql",
        lake="/lake",
        number=3,
        planned_at=PIN.planned_at,
        landing_version=7,
        tables=(TableCut("public.orders", ORDERS, (offsets(ORDERS, 2, 5),), source.default_rules),),
    )


def test_a_run_begins_where_the_last_one_ended(source):
    manifest = next_manifest(source, PIN, [landed(ORDERS, 9)], {(f"id-{ORDERS}", 0): 5})
    assert manifest.tables[0].ranges == (offsets(ORDERS, 5, 9),)


def test_a_partition_without_news_is_left_out(source):
    states = [landed(ORDERS, 9), landed(ORDERS, 4, partition=1)]
    manifest = next_manifest(source, PIN, states, {(f"id-{ORDERS}", 0): 9})
    assert manifest.tables[0].ranges == (offsets(ORDERS, 0, 4, partition=1),)


def test_nothing_new_is_no_run(source):
    assert next_manifest(source, PIN, [landed(ORDERS, 9)], {(f"id-{ORDERS}", 0): 9}) is None


def test_nothing_landed_is_no_run(source):
    assert next_manifest(source, PIN, [], {}) is None


def test_what_is_landed_and_not_applied_waits_but_for_heartbeats():
    states = [
        landed(ORDERS, 9),
        landed(ORDERS, 4, partition=1, first_offset=1),
        landed("inventory.public.items", 3),
        landed("__debezium-heartbeat.inventory", 4),
    ]
    applied = {(f"id-{ORDERS}", 0): 5, ("id-inventory.public.items", 0): 3}
    assert waiting(states, applied) == {ORDERS: 7}


def test_topics_without_rows_are_control(source):
    manifest = next_manifest(source, PIN, [landed("inventory.transaction", 4)], {})
    assert manifest.tables == ()
    assert manifest.control == (offsets("inventory.transaction", 0, 4),)


def test_heartbeats_alone_are_no_reason_to_run(source):
    beat = landed("__debezium-heartbeat.inventory", 4)
    assert next_manifest(source, PIN, [beat], {}) is None
    assert next_manifest(source, PIN, [beat, landed(ORDERS, 1)], {}).control == (
        offsets(beat.topic, 0, 4),
    )


def test_both_incarnations_of_a_topic_go_to_its_table(source):
    states = [landed(ORDERS, 9, topic_id="old"), landed(ORDERS, 2, topic_id="new")]
    manifest = next_manifest(source, PIN, states, {("old", 0): 8})
    assert manifest.tables[0].ranges == (
        offsets(ORDERS, 0, 2, topic_id="new"),
        offsets(ORDERS, 8, 9, topic_id="old"),
    )


def test_two_topics_of_one_table_are_an_error_that_names_both(source):
    with pytest.raises(Terminal, match=r"'inventory.public.orders' and 'other.public.orders'"):
        next_manifest(source, PIN, [landed(ORDERS, 1), landed("other.public.orders", 1)], {})


def test_a_second_topic_of_a_table_is_an_error_also_where_the_first_has_no_news(source):
    states = [landed(ORDERS, 9), landed("other.public.orders", 1)]
    with pytest.raises(Terminal, match=r"both feed table 'public.orders': give one of them"):
        next_manifest(source, PIN, states, {(f"id-{ORDERS}", 0): 9})


def test_a_topic_of_which_nothing_is_landed_feeds_no_table_yet(source):
    states = [landed(ORDERS, 1), landed("other.public.orders", 3, first_offset=3)]
    assert [cut.topic for cut in next_manifest(source, PIN, states, {}).tables] == [ORDERS]


def test_control_topics_feed_no_table_whatever_they_are_called(tmp_path):
    text = (
        'connector = "postgresql"\nlake = "/lake"\n[kafka]\ntopic_prefix = "inventory"\n'
        '[[table]]\ntopic = "inventory.public.t"\nname = "transaction"\n'
    )
    source = source_file.parse(text, tmp_path / "inventory.toml", {})
    states = [landed("inventory.public.t", 1), landed("inventory.transaction", 1)]
    assert [cut.table for cut in next_manifest(source, PIN, states, {}).tables] == ["transaction"]


def test_tables_and_ranges_come_in_one_order_whatever_the_input_order(source):
    states = [
        landed("inventory.public.b", 1),
        landed("inventory.public.a", 1, partition=1),
        landed("inventory.public.a", 1),
    ]
    assert next_manifest(source, PIN, states, {}) == next_manifest(source, PIN, states[::-1], {})


def test_a_table_that_is_held_is_visited_whatever_else_has_news(source):
    states = [landed(ORDERS, 9), landed("inventory.public.items", 4)]
    applied = {(f"id-{ORDERS}", 0): 9}
    manifest = next_manifest(source, PIN, states, applied, held=[ORDERS])
    assert {cut.topic: cut.offsets for cut in manifest.tables} == {
        "inventory.public.items": 4,
        ORDERS: 0,
    }
