"""The command line as a person uses it."""

import json
from dataclasses import replace

import pytest
from events import Stream

from strandline import cli


@pytest.fixture
def capture(tmp_path):
    def write(records):
        path = tmp_path / "capture.jsonl"
        with path.open("w") as file:
            for record in records:
                line = {
                    "topic": record.at.topic,
                    "partition": record.at.partition,
                    "offset": record.at.offset,
                    "ts": record.timestamp,
                    "key": record.key and record.key.decode(),
                    "payload": record.value and record.value.decode(),
                }
                file.write(json.dumps(line) + "\n")
        return str(path)

    return write


def test_history_prints_one_object_a_row_and_law_six_on_standard_error(capture, capsys):
    stream = Stream()
    stream.change("c", 2, 10, name="B")
    stream.change("c", 1, 20, name="A")
    stream.change("u", 1, 30, name="Ä")
    assert cli.main(["history", capture(stream.records), "--batches", "2"]) == 0
    printed = capsys.readouterr()
    rows = [json.loads(line) for line in printed.out.splitlines()]
    assert [(row["id"], row["name"]) for row in rows] == [(1, "A"), (1, "Ä"), (2, "B")]
    assert rows[0]["_table"] == stream.topic
    assert rows[0]["_valid_from"].endswith("Z")
    assert printed.err.startswith("3 records = 3 changes + 0 duplicates + 0 control")


def test_history_goes_by_positions_that_go_back_and_warns(capture, capsys, tmp_path):
    stream = Stream()
    stream.change("u", 1, 20, name="B")
    stream.change("c", 1, 10, name="A")
    spec = tmp_path / "shop.toml"
    spec.write_text('connector = "postgresql"\n[kafka]\ntopic_prefix = "shop"\n')
    for told in ([], ["--spec", str(spec)]):
        assert cli.main(["history", capture(stream.records), *told]) == 0
        printed = capsys.readouterr()
        rows = [json.loads(line) for line in printed.out.splitlines()]
        assert [row["name"] for row in rows] == ["A", "B"]
        assert f"warning: {stream.topic}: the record at offset 1 of partition 0" in printed.err


def test_history_succeeds_with_quarantined_records_and_lists_them(capture, capsys, tmp_path):
    stream = Stream()
    stream.change("c", 1, 10, name="A")
    stream.add(b'{"id":1}', b"nonsense")
    listed = tmp_path / "quarantine.jsonl"
    assert cli.main(["history", capture(stream.records), "--quarantine", str(listed)]) == 0
    (found,) = [json.loads(line) for line in listed.read_text().splitlines()]
    assert found == {
        "topic": stream.topic,
        "partition": 0,
        "offset": 1,
        "reason": "invalid_json",
        "detail": "the value is not JSON",
    }
    assert "1 quarantined" in capsys.readouterr().err


ABSURD = '{"topic": "t", "partition": 0, "offset": 0, "ts": 1e400, "key": "{}", "payload": null}'


@pytest.mark.parametrize("line", ["not json", '{"topic": "t"}', ABSURD])
def test_a_capture_that_is_none_ends_with_two_and_names_the_line(line, tmp_path, capsys):
    path = tmp_path / "broken.jsonl"
    path.write_text(line + "\n")
    assert cli.main(["history", str(path)]) == 2
    assert "broken.jsonl:1" in capsys.readouterr().err


def test_a_record_without_its_payload_is_no_tombstone(tmp_path, capsys):
    path = tmp_path / "capture.jsonl"
    path.write_text('{"topic": "t", "partition": 0, "offset": 0, "key": "{}", "value": "{}"}')
    assert cli.main(["history", str(path)]) == 2
    assert "capture.jsonl:1: not a record" in capsys.readouterr().err


def test_a_capture_that_is_no_text_ends_with_two_and_a_remedy(tmp_path, capsys):
    path = tmp_path / "avro.jsonl"
    path.write_bytes(b"\n\x00\xff\xfe")
    assert cli.main(["history", str(path)]) == 2
    assert "avro.jsonl: not UTF-8" in capsys.readouterr().err


def test_a_quarantine_that_cannot_be_written_is_named_before_anything_is_printed(
    capture, tmp_path, capsys
):
    stream = Stream()
    stream.change("c", 1, 10, name="A")
    where = tmp_path / "none" / "quarantine.jsonl"
    assert cli.main(["history", capture(stream.records), "--quarantine", str(where)]) == 2
    printed = capsys.readouterr()
    assert f"cannot write quarantine {where}: No such file" in printed.err
    assert not printed.out


def test_a_capture_without_kafka_s_times_has_those_of_the_source(capture, capsys):
    stream = Stream()
    stream.change("c", 1, 10, name="A")
    untimed = [replace(record, timestamp=-1) for record in stream.records]
    assert cli.main(["history", capture(untimed)]) == 0
    row = json.loads(capsys.readouterr().out)
    assert row["_ts_quality"] == "commit"
    assert row["_valid_from"].startswith("2026-")


def test_a_missing_capture_is_named(tmp_path, capsys):
    assert cli.main(["history", str(tmp_path / "none.jsonl")]) == 2
    assert "none.jsonl" in capsys.readouterr().err


def test_check_tells_good_from_bad_source_files(tmp_path, capsys):
    good, bad = tmp_path / "good.toml", tmp_path / "bad.toml"
    good.write_text('connector = "mysql"\n[kafka]\ntopic_prefix = "p"\n')
    bad.write_text('connector = "mysql"\n[kafka]\ntopic = "p"\n')
    assert cli.main(["check", str(good)]) == 0
    assert cli.main(["check", str(good), str(bad)]) == 2
    assert "'topic_prefix' is missing" in capsys.readouterr().err
