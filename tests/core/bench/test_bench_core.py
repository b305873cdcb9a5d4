"""The benchmark of the core: its records are what they say, and its page shows what was found."""

import json
from collections import Counter

import pytest

from bench.core import __main__ as command
from bench.core import memory, records, rows, subjects, timing
from bench.core.page import NOT_MEASURED, Circumstances, Figures, rendered
from bench.core.records import LEFT_OUT
from bench.core.timing import Limits, Timed
from bench.core.unit import Unit
from strandline.changes.rules import PLACEHOLDER

CHANGES = 4_000
ABOUT = Circumstances("2026-11-27", "abc1234", "a machine", (0.5, 1.0, 1.5), 3)
LIMITS = Limits(records=1_000, rounds=2, seconds=0.1)


def payloads(given):
    return [json.loads(record.value) for record in given.rows if record.value is not None]


def rates(page, told):
    """The cells of a line behind its first."""
    (line,) = [line for line in page.splitlines() if line.startswith(f"| {told}")]
    return [cell.strip() for cell in line.strip("|").split("|")][1:]


def test_plain_records_have_their_size_and_no_schemas():
    given = records.plain(CHANGES)
    sizes = [len(record.value) for record in given.rows if record.value is not None]
    assert 0.97 < sum(sizes) / len(sizes) / 627 < 1.03
    found = payloads(given)
    assert all(event.keys() >= {"before", "after", "source", "op"} for event in found)
    ops = Counter(event["op"] for event in found)
    assert sum(ops.values()) == CHANGES
    assert given.versions == ops["c"] + ops["u"]
    assert len(given) == CHANGES + ops["d"]  # a tombstone for each delete
    assert given.rules.columns


def test_described_records_are_the_plain_ones_with_schemas():
    given = records.described(100)
    assert [event["payload"] for event in payloads(given)] == payloads(records.plain(100))
    assert all(event["schema"]["type"] == "struct" for event in payloads(given))
    assert not given.rules.columns


def test_every_update_of_partial_images_leaves_columns_out_and_no_other_change_does():
    found = payloads(records.partial(CHANGES))
    plain = payloads(records.plain(CHANGES))
    assert Counter(event["op"] for event in found)["u"] > CHANGES / 2
    for event, whole in zip(found, plain, strict=True):
        if event["op"] == "u":
            assert {event["after"][name] for name in LEFT_OUT} == {PLACEHOLDER}
            event["after"] |= {name: whole["after"][name] for name in LEFT_OUT}
        assert event == whole


def test_a_tenth_of_the_changes_are_moves_whose_halves_name_each_other():
    given = records.moved(CHANGES)
    left, entered = {}, {}
    for record in given.rows:
        new, old = (record.header(f"__debezium.{name}key") for name in ("new", "old"))
        if new is not None and record.value is not None:
            assert json.loads(record.value)["op"] == "d"
            left[record.key] = new
        if old is not None:
            assert json.loads(record.value)["op"] == "c"
            entered[old] = record.key
    moves = Counter(event["op"] for event in payloads(given))["d"]
    assert moves == sum(
        record.value is not None and record.header("__debezium.newkey") is not None
        for record in given.rows
    )
    assert left.keys() == entered.keys()
    assert 0.09 < moves / CHANGES < 0.11
    assert len(payloads(given)) == CHANGES + moves


@pytest.mark.parametrize("row", rows.ROWS, ids=lambda row: row.name)
def test_each_subject_and_the_unit_make_what_follows_from_the_records(row, tmp_path):
    given = row.make(1_000)
    unit = Unit(given, tmp_path)
    assert unit.seconds() > 0  # it raises where the number is another
    unit.close()
    if row.subject is not None:
        assert len(row.subject(given)()) == row.made(given)


def test_as_many_rounds_are_timed_as_were_asked_for():
    found = timing.timed(records.plain, lambda given: lambda: given.rows, len, LIMITS)
    assert len(found.seconds) == len(found.unit) == LIMITS.rounds
    assert found.records >= LIMITS.records


def test_a_subject_that_makes_too_little_ends_the_run():
    with pytest.raises(ValueError, match="made 0 of"):
        timing.timed(records.plain, lambda given: lambda: given.rows[:0], len, LIMITS)


def test_a_slow_row_has_fewer_records_but_never_fewer_than_it_was_tried_with():
    limits = Limits(records=200_000, rounds=5, seconds=6)
    assert timing.limited(0.000_001, limits) == 200_000
    assert timing.limited(0.000_1, limits) == 10_000
    assert timing.limited(1, limits) == timing.FEW


def test_the_page_shows_the_figures_beside_what_was_wanted():
    decode = Timed(1_000, (0.01, 0.02, 0.005), (0.005, 0.005, 0.005))
    page = rendered(Figures({"decode": decode}), ABOUT)
    assert rates(page, "decode, plain") == [
        "1,000", "100,000", "50,000", "200,000", "0.005", "2.00", "200,000", "300,000",
    ]  # fmt: skip
    assert rates(page, "fold")[1] == NOT_MEASURED
    assert rates(page, "a key with 5,000,000")[1] == NOT_MEASURED
    assert "3 rounds on 2026-11-27, commit abc1234: a machine; load 0.5, 1.0, 1.5" in page
    assert page.count("\n|") == 2 + len(rows.NAMES)


def test_the_page_shows_the_memory_of_one_key_and_only_the_rows_that_were_asked_for():
    page = rendered(Figures({}, 123_400_000, 2_000), ABOUT, ["hot"])
    assert rates(page, "a key with 2,000 changes")[1] == "123 MB"
    assert page.count("\n|") == 3


def test_the_records_of_one_key_pass_by_in_batches(tmp_path, monkeypatch):
    monkeypatch.setattr(memory, "_BATCH", 300)
    file = tmp_path / "records.parquet"
    memory.write(file, 1_000)
    found = list(memory.batches(file))
    assert len(found) > 3
    assert {record.key for batch in found for record in batch.rows} == {b'{"id":0}'}
    positions = [event["source"]["lsn"] for batch in found for event in payloads(batch)]
    assert positions == sorted(positions)
    assert len(positions) == 1_000


def test_the_command_writes_the_page_and_prints_it(tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(subjects, "hot_key", None)
    words = ["general", "hot", "--records", "100", "--rounds", "1", "--seconds", "0"]
    assert command.main([*words, "--out", str(tmp_path)]) == 0
    page = (tmp_path / "core.md").read_text()
    assert capsys.readouterr().out == page
    assert rates(page, "a key with")[1] == NOT_MEASURED


def test_an_unknown_row_is_refused(capsys):
    with pytest.raises(SystemExit):
        command.main(["sort"])
    assert "known are decode, described, avro, fold" in capsys.readouterr().err
