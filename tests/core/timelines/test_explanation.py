"""One key's timeline: what it tells of recordings and of small streams, and how it is drawn."""

import json
from collections import Counter
from functools import cache
from pathlib import Path

import pytest
from samples.events import TOPIC, Stream

from strandline import cli
from strandline.changes.record import Coordinates
from strandline.changes.rules import TableRules
from strandline.changes.version import ClosedBy
from strandline.errors import SpecError
from strandline.formats import capture
from strandline.law import interpret
from strandline.timelines.drawing import ASCII, Pen, draw
from strandline.timelines.explanation import gather
from strandline.timelines.printable import cells, packed, printable
from strandline.timelines.steps import Closed, Opened, Opening, Passed, Reason

EXAMPLES = Path(__file__).parents[3] / "examples"
CAPTURE = EXAMPLES / "postgres-inventory" / "capture.jsonl"
RECORDINGS = ("postgres-inventory", "mariadb-inventory")


@cache
def recording(name="postgres-inventory"):
    return list(capture.read([EXAMPLES / name / "capture.jsonl"]))


@cache
def recorded(table, name="postgres-inventory"):
    return gather(recording(name), table)


def explain(records, table, key, **settings):
    return gather(records, table, **settings).explain(key)


@pytest.fixture
def stream():
    return Stream()


def story(explanation):
    """A timeline in a word per step: how a version began, how one ended, why a record passed."""
    return [step.reason if isinstance(step, Passed) else step.how for step in explanation.steps]


def changed(step):
    return {cell.name: (cell.was, cell.now) for cell in step.cells}


def passed(stream, key=1, rules=None):
    """The records that opened and closed nothing: offset, reason, and what they are told beside."""
    settings = {"rules": lambda _: rules} if rules else {}
    told = explain(stream.records, TOPIC, str(key), **settings)
    return [
        (step.record.at.offset, step.reason, step.other and step.other.offset)
        for step in told.steps
        if isinstance(step, Passed)
    ]


# ---------------------------------------------------------------- the recording


def test_an_order_that_moved_away_and_back_names_the_other_key_and_shows_what_changed_there():
    told = recorded("inventory.public.orders").explain('{"id":5}')
    assert story(told) == [Opening.READ, ClosedBy.KEY_MOVE, Reason.TOMBSTONE, Opening.KEY_MOVE]
    read, left, _, back = told.steps
    assert read.fresh
    assert changed(read)["status"] == (None, "new")
    assert left.version.moved_to == back.version.moved_from == '{"id":905}'
    assert changed(back) == {"id": (905, 5)}
    assert (left.partnered, back.partnered) == (True, True)
    assert told.same_row == ('{"id":905}',)


def test_the_key_in_between_shows_the_update_that_happened_there():
    told = recorded("inventory.public.orders").explain("905")
    arrived, updated, left, tombstone = told.steps
    assert changed(arrived) == {"id": (5, 905)}
    assert changed(updated) == {"status": ("new", "moved")}
    assert left.record.op == "d"
    assert (left.record.position, left.record.tx_id) == ("37216600/37216600", "1354")
    assert tombstone.other == left.record.at


def test_a_promotion_was_truncated_twice_and_inserted_anew_in_between():
    told = recorded("inventory.public.promotions").explain("SUMMER")
    assert story(told) == [
        Opening.READ,
        ClosedBy.TRUNCATE,
        Opening.CREATE,
        Opening.UPDATE,
        ClosedBy.TRUNCATE,
    ]
    read, first, created, updated, _ = told.steps
    assert first.record == first.record.__class__(
        Coordinates("inventory.public.promotions", 0, 8), "t", "37219448/37220896"
    )
    assert (read.fresh, created.fresh, updated.fresh) == (True, True, False)
    assert told.truncates == 2


def test_a_promotion_of_after_the_first_truncate_says_that_it_was_not_live_at_that_one():
    told = recorded("inventory.public.promotions").explain("AUTUMN")
    kinds = [step.reason for step in told.steps if isinstance(step, Passed)]
    assert kinds == [Reason.NOT_LIVE]
    assert story(told)[0] is Reason.NOT_LIVE


def test_a_customer_who_moved_without_its_large_value_keeps_the_value_of_the_old_key():
    old = recorded("customers").explain("3")
    new = recorded("customers").explain("103")
    read, updated, left = [step for step in old.steps if not isinstance(step, Passed)]
    assert len(changed(read)["bio"][1]) == 2600
    assert updated.carried == ("bio",)
    assert left.version.moved_to == new.key
    arrived = new.steps[0]
    assert (arrived.carried, arrived.fresh) == (("bio",), False)
    assert changed(arrived) == {"id": (3, 103)}
    assert arrived.version.row["bio"] == read.version.row["bio"]


@pytest.mark.parametrize("name", RECORDINGS)
def test_every_record_of_a_key_and_every_truncate_is_told_once_and_versions_are_the_history_s(name):
    tombstones, told = 0, Counter()
    for table in interpret(recording(name)).tables:
        records = [r for r in recording(name) if r.at.topic == table.topic]
        tombstones += sum(record.value is None for record in records)
        for key in {version.key for version in table.versions}:
            found = recorded(table.topic, name).explain(key)
            own = [record.at for record in records if is_of(record, key)]
            assert Counter(step.record.at for step in found.steps) == Counter(own)
            assert versions(found) == [v for v in table.versions if v.key == key]
            told.update(story(found))
    assert told[Reason.TOMBSTONE] == tombstones > 0


def is_of(record, key):
    """By the raw bytes: a record of that key, or a truncate, which has none."""
    return record.key is None or json.loads(record.key)["payload"] == json.loads(key)


def versions(told):
    return [step.version for step in told.steps if isinstance(step, Opened)]


# ---------------------------------------------------------------- why a record made no version


def test_a_re_delivery_names_the_first_delivery(stream):
    stream.change("c", 1, 10, name="A")
    stream.change("u", 1, 20, name="B")
    stream.again(*stream.records)
    assert passed(stream) == [(2, Reason.REDELIVERY, 0), (3, Reason.REDELIVERY, 1)]


def test_a_repeated_delete_and_both_tombstones_are_told_apart(stream):
    stream.change("c", 1, 10, name="A")
    stream.change("d", 1, 20)
    stream.tombstone(1)
    stream.again(*stream.records[1:])
    assert passed(stream) == [
        (2, Reason.TOMBSTONE, 1),
        (3, Reason.REDELIVERY, 1),
        (4, Reason.TOMBSTONE, 3),
    ]


def test_a_lone_tombstone_closes_and_its_re_delivery_is_one(stream):
    stream.change("c", 1, 10, name="A")
    lone, created = stream.tombstone(1), stream.change("c", 1, 20, name="B")
    assert story(explain(stream.records, TOPIC, "1"))[1] is ClosedBy.TOMBSTONE
    stream.again(lone, created)
    repeated = [(3, Reason.REDELIVERY, None), (4, Reason.REDELIVERY, 2)]
    assert sorted(passed(stream)) == repeated


def test_a_read_of_the_row_as_it_stands_confirmed_it(stream):
    stream.change("c", 1, 10, name="A")
    stream.change("r", 1, 20, name="A")
    assert passed(stream) == [(1, Reason.CONFIRMED, None)]


def test_a_stale_read_names_the_newer_record_at_its_position(stream):
    stream.change("c", 1, 10, name="A")
    stream.change("d", 1, 20)
    stream.change("r", 1, 20, name="A")
    assert passed(stream) == [(2, Reason.STALE_READ, 1)]


def test_a_read_at_the_position_of_a_truncate_is_stale(stream):
    stream.change("c", 1, 10, name="A")
    truncate = stream.truncate(20)
    stream.change("r", 1, 20, name="A")
    assert passed(stream) == [(2, Reason.STALE_READ, truncate.at.offset)]


def test_an_update_that_changed_nothing_says_so(stream):
    stream.change("c", 1, 10, name="A")
    stream.change("u", 1, 20, name="A")
    assert passed(stream) == [(1, Reason.UNCHANGED, None)]


def test_an_update_of_ignored_columns_names_those_that_changed(stream):
    stream.change("c", 1, 10, name="A", bio="x")
    stream.change("u", 1, 20, name="A", bio="y")
    stream.change("u", 1, 30, name="A", bio="y")
    rules = TableRules(ignore=("bio", "id"))
    assert [reason for _, reason, _ in passed(stream, rules=rules)] == [
        Reason.IGNORED_COLUMNS,
        Reason.UNCHANGED,
    ]
    told = explain(stream.records, TOPIC, "1", rules=lambda _: rules)
    assert told.steps[1].columns == ("bio",)


@pytest.mark.parametrize("before", [0, 1])
def test_a_delete_of_a_key_that_is_not_live_says_so(stream, before):
    for _ in range(before):
        stream.change("c", 1, 10, name="A")
        stream.change("d", 1, 20)
    stream.change("d", 1, 30)
    assert passed(stream) == [(2 * before, Reason.NOT_LIVE, None)]


def test_a_delete_of_a_row_that_never_came_is_told_from_one_of_a_dead_key(stream):
    oracle = {"connector": "oracle", "scn": "1", "txId": "t"}
    stream.source = lambda position, _: {**oracle, "commit_scn": str(position)}
    stream.change("c", 1, 20, name="A")
    stream.change("d", 1, 20, before={"id": 1, "name": "never seen", "bio": None})
    assert passed(stream) == [(1, Reason.UNSEEN_ROW, None)]


def test_an_update_of_a_row_that_has_lost_its_key_to_another_says_so(stream):
    oracle = {"connector": "oracle", "scn": "1", "txId": "t"}
    stream.source = lambda position, _: {**oracle, "commit_scn": str(position)}
    older = {"id": 1, "name": "older", "bio": None}
    stream.change("c", 1, 10, name="older")
    stream.change("c", 1, 20, name="newer")
    stream.change("u", 1, 20, before=older, name="older yet")
    stream.change("d", 1, 20, before=older | {"name": "older yet"})
    assert passed(stream) == [(2, Reason.TAKEN_OVER, None)]


def test_truncates_are_told_also_where_they_closed_nothing(stream):
    first = stream.truncate(5)
    stream.change("c", 1, 10, name="A")
    closing = stream.truncate(20)
    stream.truncate(20, partition=1)
    told = explain(stream.records, TOPIC, "1")
    assert [(step.record.at, word) for step, word in zip(told.steps, story(told), strict=True)] == [
        (first.at, Reason.NOT_LIVE),
        (stream.records[1].at, Opening.CREATE),
        (Coordinates(TOPIC, 1, 0), ClosedBy.TRUNCATE),  # Kafka's time says that it came first
        (closing.at, Reason.REDELIVERY),
    ]


def test_a_truncate_of_another_table_in_the_topic_closes_nothing_here(stream):
    def of(table):
        return lambda position, snapshot: {
            **Stream.source(stream, position, snapshot),
            "db": "shop",
            "table": table,
        }

    stream.source = of("item_1")
    stream.change("c", 1, 10, name="A")
    stream.source = of("item_2")
    stream.truncate(20)
    told = explain(stream.records, TOPIC, "1")
    assert story(told) == [Opening.CREATE, Reason.OTHER_TABLE]
    assert told.steps[1].detail == "shop.item_2"


def test_quarantined_and_control_records_of_the_key_are_told_others_are_counted(stream):
    stream.change("c", 1, 10, name="A")
    stream.add(stream.key(1), b'{"op":"x"}')
    stream.add(stream.key(1), b'{"ts_ms":1}')
    stream.add(stream.key(2), b"not of this key")
    stream.add(b"no key", b"nonsense")
    told = explain(stream.records, TOPIC, "1")
    assert [(step.record.at.offset, step.reason) for step in told.steps[1:]] == [
        (1, Reason.QUARANTINED),
        (2, Reason.CONTROL),
    ]
    assert told.steps[1].detail.startswith("unknown_op: ")
    assert (told.records, told.nameless) == (3, 1)


def test_a_tombstone_behind_a_quarantined_record_waits_for_it(stream):
    stream.change("c", 1, 10, name="A")
    stream.add(stream.key(1), b'{"op":"x"}')
    stream.tombstone(1)
    assert passed(stream) == [(1, Reason.QUARANTINED, None), (2, Reason.WAITING, 1)]


# ---------------------------------------------------------------- what opened and closed


def test_versions_without_a_beginning_and_without_an_end_say_what_is_missing(stream):
    stream.change("u", 1, 10, name="A")
    stream.change("c", 1, 20, name="B")
    told = explain(stream.records, TOPIC, "1")
    assert story(told) == [Opening.UPDATE_UNSEEN, Opening.CREATE_OVER]
    assert changed(told.steps[1]) == {"name": ("A", "B")}


def test_a_differing_read_corrects(stream):
    stream.change("c", 1, 10, name="A")
    stream.change("r", 1, 20, name="B")
    assert story(explain(stream.records, TOPIC, "1")) == [Opening.CREATE, Opening.CORRECTION]


def test_halves_of_moves_without_their_partner_say_so(stream):
    stream.change("c", 1, 10, name="A")
    stream.change("d", 1, 20, newkey=2)
    stream.change("c", 4, 30, name="B", oldkey=3)
    left = explain(stream.records, TOPIC, "1").steps[-1]
    arrived = explain(stream.records, TOPIC, "4").steps[0]
    assert (left.how, left.partnered) == (ClosedBy.KEY_MOVE, False)
    assert (arrived.how, arrived.partnered, arrived.fresh) == (Opening.KEY_MOVE, False, True)


def test_rows_that_change_places_are_compared_with_themselves_under_the_other_key(stream):
    stream.source = lambda at, snapshot: {**Stream.source(stream, at, snapshot), "txId": at // 10}
    stream.change("c", 1, 10, name="A")
    stream.change("c", 2, 11, name="B")
    stream.change("d", 1, 20, newkey=2, before={"id": 1, "name": "A", "bio": None})
    stream.change("c", 2, 20, name="A", oldkey=1)
    stream.change("d", 2, 21, newkey=1, before={"id": 2, "name": "B", "bio": None})
    stream.change("c", 1, 21, name="B", oldkey=2)
    for key, other in (("1", 2), ("2", 1)):
        last = explain(stream.records, TOPIC, key).steps[-1]
        assert changed(last) == {"id": (other, int(key))}


def test_a_row_that_a_complete_snapshot_did_not_read_ends_at_the_first_read(stream):
    stream.change("c", 1, 10, name="A")
    read = stream.change("r", 2, 20, name="B")
    notices = Stream("shop.notifications")
    for number, word in enumerate(("STARTED", "COMPLETED")):
        notice = {"aggregate_type": "Initial Snapshot", "type": word, "additional_data": None}
        notice["timestamp"] = EMITTED + number
        notices.add(b'{"id":"x"}', json.dumps(notice).encode())
    closed = explain(stream.records + notices.records, TOPIC, "1").steps[-1]
    assert isinstance(closed, Closed)
    assert (closed.how, closed.record.at) == (ClosedBy.SNAPSHOT_ABSENT, read.at)


EMITTED = 1_790_000_000_000  # the envelope time of the reads of `events`


def test_a_late_record_stands_where_it_belongs_not_where_it_arrived(stream):
    stream.change("c", 1, 10, name="A", partition=1)
    stream.change("u", 1, 30, name="C", partition=1)
    stream.change("u", 1, 20, name="B", partition=0)
    told = explain(reversed(stream.records), TOPIC, "1")
    assert [step.version.row["name"] for step in told.steps] == ["A", "B", "C"]


# ---------------------------------------------------------------- finding table and key


@pytest.mark.parametrize(
    "key",
    ['{"order_id":2,"line_no":9}', '{ "line_no": 9, "order_id": 2 }',
     '{"order_id":"2","line_no":9}', '{"schema":{},"payload":{"order_id":2,"line_no":9}}'],
)  # fmt: skip
@pytest.mark.parametrize("table", ["inventory.public.order_items", "order_items"])
def test_a_key_and_a_table_may_be_spelt_in_any_way(table, key):
    told = recorded(table).explain(key)
    assert (told.topic, told.key) == ("inventory.public.order_items", '{"order_id":2,"line_no":9}')


@pytest.mark.parametrize("key", ["5", '{"id":5}', '{"id": 5}', ' {"id": "5"}'])
def test_a_key_of_one_column_may_be_a_bare_value(key):
    assert recorded("orders").explain(key).key == '{"id":5}'


@pytest.mark.parametrize("key", ["SUMMER", '"SUMMER"', '{"code":"SUMMER"}'])
def test_a_key_of_text_needs_no_quotes(key):
    assert recorded("promotions").explain(key).key == '{"code":"SUMMER"}'


@pytest.mark.parametrize(
    ("table", "key", "parts"),
    [
        ("order", "5", ["no table 'order'", "inventory.public.orders", "closest of 5"]),
        ("orders", "6000", ["no key 6000", '{"id":905}', '{"id":777}', "closest of"]),
        ("orders", '{"nr":5}', ["made of id", '{"id":']),
        ("order_items", "5", ["made of order_id, line_no", '{"order_id":']),
        ("promotions", "SUMER", ["no key SUMER", '{"code":"SUMMER"}']),
        ("orders", "\x1b[2Jx\n", ["\\x1b[2Jx\\n"]),
    ],
)
def test_what_never_was_is_answered_in_one_line_with_what_there_is(table, key, parts):
    with pytest.raises(SpecError) as refused:
        recorded(table).explain(key)
    assert str(refused.value).isprintable()
    for part in parts:
        assert part in str(refused.value)


def test_a_table_that_stopped_has_no_timeline_but_an_error(stream):
    stream.change("c", 1, 10, name="A")
    stream.columns = [{"type": "int32", "field": "id"}, {"type": "boolean", "field": "name"}]
    stream.change("u", 1, 20, name=True)
    with pytest.raises(SpecError, match=r"no history: .*name"):
        explain(stream.records, TOPIC, "1")


# ---------------------------------------------------------------- drawing


def test_a_timeline_as_a_person_sees_it():
    told = recorded("orders").explain("5")
    assert list(draw(told)) == [
        'inventory.public.orders  {"id":5}',
        "2 versions, the last one stands.",
        "4 records of this key, 1 changed nothing.",
        'The row was also {"id":905}.',
        "",
        "● 2026-11-20 23:41:55.702010Z  read by a snapshot",
        "│ r · inventory.public.orders[1]@1 · 37136736/37136736 · tx 1317",
        "│",
        "│   id           5",
        "│   customer_id  5",
        '│   status       "new"',
        "│   placed_at    2026-04-19T07:35:44.970000Z",
        "│   promised_at  2026-06-18T05:03:58.000000",
        "│   total        9409.9639",
        "│   NULL: note",
        "│",
        '✕ 2026-11-20 23:41:57.550923Z  moved to {"id":905}',
        "  d · inventory.public.orders[1]@12 · 37215144/37215144 · tx 1352",
        "",
        "   ∙ tombstone after its delete",
        "     tombstone · inventory.public.orders[1]@13",
        "",
        '● 2026-11-20 23:41:57.551584Z  moved here from {"id":905}',
        "│ c · inventory.public.orders[1]@18 · 37216600/37216600 · tx 1354",
        "│",
        "│   id  905 → 5",
        "│",
        "○ now",
    ]


@pytest.mark.parametrize("width", [40, 80, 120])
def test_no_line_is_wider_than_the_terminal_and_none_ends_in_spaces(width):
    for name in RECORDINGS:
        for table in interpret(recording(name)).tables:
            for key in {version.key for version in table.versions}:
                for line in draw(recorded(table.topic, name).explain(key), Pen(width)):
                    assert cells(line) <= width
                    assert line == line.rstrip()


HOSTILE = "\x1b[2J\x9b31m\r\n\u202eevil\u2028\x00"


def test_nothing_that_a_record_holds_reaches_the_terminal_raw(stream):
    key = json.dumps({"id": HOSTILE}).encode()
    stream.columns = [{"type": "string", "field": "id"}, {"type": "string", "field": HOSTILE}]
    value = {
        "op": "c",
        "after": {"id": HOSTILE, HOSTILE: HOSTILE},
        "source": stream.source(10, ""),
    }
    stream.add(key, stream.value(value))
    stream.add(key, json.dumps({"op": HOSTILE}).encode())
    lines = list(draw(explain(stream.records, TOPIC, HOSTILE)))
    assert all(line.isprintable() for line in lines)
    assert sum("evil" in line for line in lines) == 5  # key, its cell, column, its value, op


def test_long_values_are_cut_where_they_still_show_the_difference(stream):
    stream.change("c", 1, 10, name="x" * 5000 + "old tail")
    stream.change("u", 1, 20, name="x" * 5000 + "new tail, and longer" + "y" * 90)
    lines = list(draw(explain(stream.records, TOPIC, "1")))
    assert any(line.startswith('│   name  "xxxx') and "(5,008 letters)" in line for line in lines)
    was, now = [line for line in lines if "tail" in line]
    assert was == '│   name  …xxxxxxxxxxxxold tail" (5,008 letters)'
    assert now.startswith("│       → …xxxxxxxxxxxxnew tail, and longeryyy")
    assert now.endswith("… (5,110 letters)")


def test_null_and_the_text_null_cannot_be_taken_for_each_other(stream):
    stream.change("c", 1, 10, name="NULL")
    stream.change("u", 1, 20, name=None)
    assert '│   name  "NULL" → NULL' in list(draw(explain(stream.records, TOPIC, "1")))


def test_what_is_known_of_a_time_is_said(stream):
    clock = stream.source
    stream.source = lambda at, snapshot: {**clock(at, snapshot), "ts_us": -5}
    stream.change("c", 1, 10, name="A")
    stream.source = lambda at, snapshot: {**clock(at, snapshot), "ts_us": 1_000_000_000_000_000}
    stream.change("u", 1, 20, name="B")
    lines = list(draw(explain(stream.records, TOPIC, "1")))
    assert "│ Kafka's time: the source said 1969-12-31 23:59:59.999995Z" in lines
    assert "│ raised to the time before it: the source said 2001-09-09 01:46:40.000000Z" in lines
    assert lines.count("│ stood for no time: to be seen by position only") == 1


def test_a_terminal_without_these_signs_gets_others(stream):
    stream.change("c", 1, 10, name="A")
    stream.change("u", 1, 20, name="B")
    lines = list(draw(explain(stream.records, TOPIC, "1"), Pen(marks=ASCII)))
    assert all(line.isascii() for line in lines)
    assert '|   name  "A" -> "B"' in lines


def test_wide_letters_take_two_cells_and_words_are_never_lost():
    assert cells("客户 é") == 6
    assert list(packed(["客户客户客户", "ab"], 5)) == ["客户", "客户", "客户", "ab"]
    assert printable("客户 é\t") == "客户 é\\t"


# ---------------------------------------------------------------- the command line


def test_explain_prints_the_timeline(capsys):
    assert cli.main(["explain", str(CAPTURE), "--table", "promotions", "--key", "SUMMER"]) == 0
    printed = capsys.readouterr()
    assert printed.out.startswith('inventory.public.promotions  {"code":"SUMMER"}\n')
    assert "table truncated" in printed.out
    assert "\x1b" not in printed.out
    assert not printed.err


def test_explain_of_what_never_was_ends_with_two_and_one_line(capsys):
    assert cli.main(["explain", str(CAPTURE), "--table", "orders", "--key", "6000"]) == 2
    printed = capsys.readouterr()
    assert not printed.out
    assert printed.err.startswith("strandline: there is no key 6000; ")
    assert printed.err.count("\n") == 1


def test_explain_goes_by_the_names_and_rules_of_a_source_file(tmp_path, capsys):
    spec = tmp_path / "inventory.toml"
    spec.write_text(
        'connector = "postgresql"\n[kafka]\ntopic_prefix = "inventory"\n'
        '[[table]]\ntopic = "inventory.public.orders"\nname = "purchases"\nignore = ["status"]\n'
    )
    asked = ["--spec", str(spec), "--table", "purchases", "--key", "905"]
    assert cli.main(["explain", str(CAPTURE), *asked]) == 0
    assert "only ignored columns changed: status" in capsys.readouterr().out
