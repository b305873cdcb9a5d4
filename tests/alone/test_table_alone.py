"""What a history in a real table does when rules, columns or releases change, and what stops it."""

import json
from dataclasses import asdict, dataclass, replace
from pathlib import Path

import pyarrow as pa
import pytest
from deltalake import write_deltalake
from samples.events import COLUMNS, EPOCH_MS, Stream

from strandline.alone import choice
from strandline.alone.capture import CaptureLake
from strandline.alone.stores import fencing
from strandline.alone.stores.control import Control
from strandline.alone.stores.tables import opened, rows
from strandline.alone.work import work_off
from strandline.changes.rules import TableRules
from strandline.law import in_runs, total
from strandline.runs import lake as lakes
from strandline.runs.erasure import Erasure, digest
from strandline.runs.lake import SourceLake
from strandline.runs.manifest import TableCut, Work
from strandline.runs.way import Way

TOPIC = Stream().topic


def run(capture, number, records):
    capture.land(records)
    capture.moment = capture.moment.replace(hour=number)
    (receipt,) = capture.compact(capture.manifest(number, records)).tables
    return receipt


def versions(capture, *names):
    found = rows(
        opened(capture.lake.history(TOPIC)), "SELECT * FROM stored ORDER BY _key, _seq_from"
    )
    return [tuple(row[name] for name in names) for row in found]


def test_what_was_only_quarantined_in_the_first_run_is_known_to_the_second(capture):
    s = Stream()
    s.add(b'{"id":1}', b"no JSON")
    s.add(b'{"id":1}', None)
    s.change("c", 2, 5, name="a")
    runs = [s.records[:1], s.records[1:]]
    receipts = [run(capture, number, each) for number, each in enumerate(runs, 1)]
    law = in_runs(runs).counts
    found = total(receipt.counts for receipt in receipts)
    assert (found.changes, found.control, found.quarantined) == (
        law.changes, law.control, law.quarantined
    )  # fmt: skip


def test_a_version_that_stays_keeps_the_time_at_which_it_was_recorded(capture):
    s = Stream()
    s.change("c", 1, 1, name="a")
    s.change("c", 2, 2, name="b")
    run(capture, 1, s.records)
    s.change("u", 2, 3, name="c")
    receipt = run(capture, 2, s.records[2:])
    assert [at.hour for (at,) in versions(capture, "_recorded_at")] == [1, 2, 2]
    assert (receipt.counts.rows_written, receipt.counts.rows_closed) == (2, 1)


def test_a_version_that_a_change_leaves_as_it_is_keeps_its_time_and_the_key_goes_on(capture):
    s = Stream()
    s.change("c", 1, 1, name="a")
    s.change("u", 1, 2, name="a")
    s.change("u", 1, 3, name="b")
    runs = [[record] for record in s.records]
    receipts = [run(capture, number, each) for number, each in enumerate(runs, 1)]
    assert [at.hour for (at,) in versions(capture, "_recorded_at")] == [3, 3]
    assert [receipt.changed for receipt in receipts] == [True, False, True]
    counts = [receipt.counts for receipt in receipts]
    assert [(c.rows_written, c.rows_closed, c.history_rows, c.current_rows) for c in counts] == [
        (1, 0, 1, 1), (0, 0, 1, 1), (2, 1, 2, 1)
    ]  # fmt: skip


def test_keys_go_on_from_the_history_though_no_record_is_on_record_any_more(capture):
    s = Stream()
    s.change("c", 1, 1, name="a")
    s.change("c", 2, 2, name="a")
    run(capture, 1, s.records)
    opened(capture.lake.records(TOPIC)).delete()
    s.change("u", 1, 3, name="b")
    s.change("d", 2, 4)
    receipt = run(capture, 2, s.records[2:])
    assert versions(capture, "name", "_closed_by") == [
        ("a", "update"), ("b", None), ("a", "delete")
    ]  # fmt: skip
    assert (receipt.counts.history_rows, receipt.counts.current_rows) == (3, 1)


def test_rows_closed_are_the_versions_that_a_run_gave_an_end(capture):
    s = Stream()
    s.change("c", 1, 1, name="a")
    s.change("u", 1, 2, name="b")
    s.change("d", 1, 3)
    s.change("c", 2, 4, name="a")
    first = run(capture, 1, s.records)
    s.change("u", 2, 5, name="b")
    s.change("u", 2, 6, name="c")
    second = run(capture, 2, s.records[4:])
    assert (first.counts.rows_written, first.counts.rows_closed) == (3, 2)
    assert (second.counts.rows_written, second.counts.rows_closed) == (3, 2)


def test_a_new_column_is_null_in_the_versions_before_it(capture):
    s = Stream()
    s.change("c", 1, 1, name="a")
    run(capture, 1, s.records)
    s.columns = [*COLUMNS, {"type": "int64", "optional": True, "field": "weight"}]
    s.change("c", 2, 2, name="b", more={"weight": 7})
    run(capture, 2, s.records[1:])
    assert versions(capture, "name", "weight") == [("a", None), ("b", 7)]
    assert [at.hour for (at,) in versions(capture, "_recorded_at")] == [1, 2]


@pytest.mark.parametrize(
    "name",
    ["5% off", "100%", "a b", "a#b", "a?b=c&d", "it's", 'quo"te', "{a}*", "ä", "%zz", "a:b+c"],
)
def test_a_lake_may_lie_in_a_folder_whose_name_is_not_refused(capture, tmp_path, name):
    assert lakes.strange(name) is None
    other = CaptureLake(SourceLake(f"{tmp_path}/{name}", "shop"), "postgresql", capture.moment)
    s = Stream()
    s.change("c", 1, 1, name="a")
    s.add(b'{"id":2}', b"no JSON")
    run(other, 1, s.records)
    s.change("u", 1, 2, name="b")
    run(other, 2, s.records[2:])
    assert versions(other, "name") == [("a",), ("b",)]
    assert (tmp_path / name / "shop" / "landing").is_dir()


@pytest.mark.parametrize("topic", ["a b", "a%20b", "a=20b", "a/b", "ä", "[a]", "a\\b"])
def test_a_table_of_a_recording_may_have_any_name(capture, topic):
    s = Stream(topic=topic)
    s.change("c", 1, 1, name="a")
    s.change("u", 1, 2, name="b")
    for receipt in capture.runs([s.records[:1], s.records[1:]]):
        assert [table.error for table in receipt.tables] == [None]
    found = rows(opened(capture.lake.history(topic)), "SELECT name FROM stored ORDER BY _seq_from")
    assert [row["name"] for row in found] == ["a", "b"]


def test_a_type_that_widens_is_wider_in_all_versions(capture):
    weight = {"type": "int32", "optional": True, "field": "weight"}
    s = Stream(columns=[*COLUMNS, weight])
    s.change("c", 1, 1, more={"weight": 5})
    run(capture, 1, s.records)
    s.columns = [*COLUMNS, {**weight, "type": "int64"}]
    s.change("c", 2, 2, more={"weight": 1 << 40})
    run(capture, 2, s.records[1:])
    assert versions(capture, "weight") == [(5,), (1 << 40,)]


def test_other_rules_make_the_history_anew_and_rewrite_only_what_differs(capture):
    s = Stream()
    s.change("c", 1, 1, name="a")
    s.change("u", 1, 2, name="a", bio="new")
    s.change("c", 2, 3, name="b")
    run(capture, 1, s.records)
    assert len(versions(capture, "name")) == 3
    capture.rules = lambda _: TableRules(ignore=("bio",))
    s.change("c", 3, 4, name="c")
    receipt = run(capture, 2, s.records[3:])
    assert versions(capture, "name", "bio") == [("a", "new"), ("b", None), ("c", None)]
    assert receipt.counts.history_rows == receipt.counts.current_rows == 3
    assert [at.hour for (at,) in versions(capture, "_recorded_at")] == [2, 1, 2]


def test_a_setting_that_is_said_later_has_what_was_quarantined_for_it_read_once_more(capture):
    s = Stream()
    for number, photo in enumerate(("00ff", "00ff00ff"), 1):
        source = {"connector": "postgresql", "lsn": number, "ts_us": 1}
        row = {"id": number, "photo": photo}
        said = {"op": "c", "after": row, "source": source}
        s.add(json.dumps({"id": number}).encode(), json.dumps(said).encode())
    rules = TableRules(columns=(("id", "int32"), ("photo", "bytes")))
    capture.rules = lambda _: rules
    assert run(capture, 1, s.records[:1]).counts.quarantined == 1
    capture.rules = lambda _: replace(rules, settings=(("binary.handling.mode", "hex"),))
    assert run(capture, 2, s.records[1:]).counts.history_rows == 2
    assert versions(capture, "photo") == [(b"\x00\xff",), (b"\x00\xff\x00\xff",)]


def test_a_column_whose_name_delta_rs_cannot_write_stops_its_table_and_says_what_to_do(capture):
    s = Stream(columns=[*COLUMNS, {"type": "string", "optional": True, "field": "full name"}])
    s.change("c", 1, 1, more={"full name": "a"})
    receipt = run(capture, 1, s.records)
    assert "'full name'" in receipt.error
    assert opened(capture.lake.history(TOPIC)) is None


def spread(capture):
    """Makes the table's history one that Spark has made, by what it notes."""
    stored = opened(capture.lake.history(TOPIC))
    noted = json.dumps({"receipt": {"table": TOPIC, "topic": TOPIC, "counts": {}}, "kinds": []})
    stored.alter.set_table_properties(
        {"delta.appendOnly": "false"}, commit_properties=fencing.commit(2, noted)
    )


def test_a_history_that_spark_has_made_is_gone_on_with_from_landing(capture):
    s = Stream()
    s.change("c", 1, 1, name="a")
    run(capture, 1, s.records)
    spread(capture)
    s.change("c", 2, 2, name="b")
    assert run(capture, 3, s.records[1:]).error is None
    assert versions(capture, "name") == [("a",), ("b",)]
    known = rows(opened(capture.lake.records(TOPIC)), 'SELECT "offset", run FROM stored')
    assert sorted((row["offset"], row["run"]) for row in known) == [(0, 3), (1, 3)]


def test_a_history_of_the_release_before_whose_records_landing_has_lost_is_held(capture):
    s = Stream()
    s.change("c", 1, 1, name="a")
    run(capture, 1, s.records)
    spread(capture)
    places = {"_topic_id": [TOPIC], "_partition": [0], "_offset": [0], "_run": [1]}
    write_deltalake(capture.lake.changes(TOPIC), pa.table(places))
    opened(capture.lake.landing).delete('"offset" = 0')
    s.change("c", 2, 2, name="b")
    assert "landing no longer has: let the connector" in run(capture, 3, s.records[1:]).error
    assert versions(capture, "name") == [("a",)]


def test_a_table_with_much_on_record_is_left_to_spark_unless_asked_for(capture, monkeypatch):
    s = Stream()
    s.change("c", 1, 1, name="a")
    run(capture, 1, s.records)
    monkeypatch.setattr(choice, "MOST_ON_RECORD", 0)
    s.change("c", 2, 2, name="b")
    capture.way = Way.AUTO
    assert "1 records are on record, more than 0" in run(capture, 2, s.records[1:]).error
    capture.way = Way.ALONE
    assert run(capture, 3, s.records[1:]).error is None


@pytest.mark.parametrize("value", [0.1, "NaN"])
def test_a_duplicate_writes_nothing_whatever_its_floats_are(capture, value):
    s = Stream(columns=[*COLUMNS, {"type": "float", "optional": True, "field": "weight"}])
    s.change("c", 1, 1, name="a", more={"weight": value})
    s.change("u", 1, 2, name="b", more={"weight": value})
    run(capture, 1, s.records)
    s.again(s.records[-1])
    receipt = run(capture, 2, s.records[2:])
    assert (receipt.counts.duplicates, receipt.counts.rows_written, receipt.changed) == (
        1,
        0,
        False,
    )
    assert [at.hour for (at,) in versions(capture, "_recorded_at")] == [1, 1]


def test_a_run_that_is_repeated_after_the_log_has_lost_it_changes_nothing(capture):
    s = Stream()
    s.change("c", 1, 1, name="a")
    capture.land(s.records)
    first = capture.manifest(1, s.records)
    capture.compact(first)
    s.change("u", 1, 2, name="b")
    run(capture, 2, s.records[1:])
    path = capture.lake.history(TOPIC)
    opened(path).create_checkpoint()
    (Path(path) / "_delta_log" / f"{0:020d}.json").unlink()
    (receipt,) = capture.compact(first).tables
    assert "no longer in the log" in receipt.error
    assert fencing.applied(opened(path)) == 2
    assert versions(capture, "name") == [("a",), ("b",)]


def test_a_topic_with_a_hole_behind_each_of_its_records_is_read_whole(capture):
    s = Stream()
    for key in range(3_000):
        s.change("c", key, key + 1, name="n")
        s.skip(1)
    assert run(capture, 1, s.records).counts.changes == 3_000


def test_a_table_whose_rows_are_flattened_hears_of_complete_snapshots(capture):
    notices = Stream(topic="notes")
    for n, word in enumerate(("STARTED", "COMPLETED")):
        notice = {
            "id": "1", "aggregate_type": "Initial Snapshot", "type": word,
            "additional_data": {"connector_name": "x"}, "timestamp": EPOCH_MS + n,
        }  # fmt: skip
        notices.add(None, json.dumps(notice).encode())
    capture.rules = lambda _: TableRules(flattened=True)
    manifest = capture.manifest(1, Stream().records)
    cut = TableCut(TOPIC, TOPIC, (), TableRules(flattened=True))
    kept = tuple((1, record) for record in notices.records)
    control = Control(replace(manifest, tables=(cut,)), kept, len(kept))
    assert len(control.after(1).snapshots) == 1


@dataclass
class Routed(Stream):
    """A topic into which several tables are routed; `table` is that of the next record."""

    table: str = "item_1"

    def source(self, at, snapshot):
        return {**super().source(at, snapshot), "schema": "public", "table": self.table}


def routed():
    """A change of one table, and two of another."""
    s = Routed()
    s.change("c", 1, 1, name="a")
    s.table = "item_2"
    s.change("c", 2, 2, name="b")
    s.change("u", 1, 3, name="c")
    return s.records


def test_a_second_table_holds_a_topic_s_until_the_source_file_says_that_they_are_one(capture):
    records = routed()
    assert run(capture, 1, records[:1]).error is None
    assert "public.item_1 and public.item_2" in run(capture, 2, records[1:2]).error
    assert versions(capture, "name") == [("a",)]
    capture.rules = lambda _: TableRules(one_table=True)
    capture.land(records[2:])
    (receipt,) = capture.compact(capture.manifest(3, records[1:])).tables
    assert receipt.error is None
    assert versions(capture, "name") == [("a",), ("c",), ("b",)]


def test_tables_that_were_folded_into_one_are_held_where_nobody_says_that_they_are(capture):
    """As is a history in which a release before has folded them without a word."""
    records = routed()
    capture.rules = lambda _: TableRules(one_table=True)
    assert run(capture, 1, records[:2]).error is None
    capture.rules = lambda _: TableRules()
    assert "public.item_1 and public.item_2" in run(capture, 2, records[2:]).error
    assert versions(capture, "name") == [("a",), ("b",)]


def test_a_rename_that_comes_later_makes_the_history_anew_without_the_old_name(capture):
    s = Stream()
    s.change("c", 1, 1, name="a", bio="x")
    s.change("u", 1, 2, name="b", bio="x")
    run(capture, 1, s.records)
    capture.rules = lambda _: TableRules(rename=(("bio", "about"),))
    s.change("u", 1, 3, name="c", bio="y")
    receipt = run(capture, 2, s.records[2:])
    assert receipt.error is None
    assert versions(capture, "name", "about") == [("a", "x"), ("b", "x"), ("c", "y")]
    fields = opened(capture.lake.history(TOPIC)).schema().fields
    assert "bio" not in {of.name for of in fields}


def test_a_key_is_erased_under_the_name_that_it_had_before_its_column_was_renamed(capture):
    s = Stream()
    s.change("c", 1, 1, name="secret")
    s.add(b'{"id":1}', b'{"op":"u","secret":1}')
    s.change("c", 2, 2, name="kept")
    run(capture, 1, s.records)
    capture.rules = lambda _: TableRules(rename=(("id", "no"),))
    s.change("u", 2, 3, name="kept, too")
    run(capture, 2, s.records[3:])
    manifest = capture.manifest(3, s.records)
    order = asdict(Erasure((digest('{"no":1}'),)))
    cut = replace(manifest.tables[0], ranges=())
    work_off(replace(manifest, work=Work.ERASE, order=order, tables=(cut,)))
    lake = capture.lake
    for path in (lake.landing, lake.quarantine, lake.records(TOPIC), lake.history(TOPIC)):
        assert "secret" not in str(rows(opened(path), "SELECT * FROM stored"))


def test_a_rename_of_the_key_that_comes_later_gives_every_version_the_new_key(capture):
    s = Stream()
    s.change("c", 1, 1, name="a")
    s.change("d", 1, 2, newkey=2)
    s.change("c", 2, 2, name="a", oldkey=1)
    s.change("c", 3, 3, name="c")
    run(capture, 1, s.records)
    capture.rules = lambda _: TableRules(rename=(("id", "no"),))
    s.change("u", 2, 4, name="b")
    receipt = run(capture, 2, s.records[4:])
    assert receipt.error is None
    assert versions(capture, "_key", "no", "name", "_closed_by", "_moved_to") == [
        ('{"no":1}', 1, "a", "key_move", '{"no":2}'),
        ('{"no":2}', 2, "a", "update", None),
        ('{"no":2}', 2, "b", None, None),
        ('{"no":3}', 3, "c", None, None),
    ]
    s.change("d", 3, 5)
    run(capture, 3, s.records[5:])
    assert versions(capture, "_key", "_closed_by")[-1] == ('{"no":3}', "delete")
