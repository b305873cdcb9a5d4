"""The command line as a person uses it."""

import gzip
import json
import os
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest
from samples.events import Stream

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
    told = capsys.readouterr().err
    assert "1 quarantined" in told
    where = f"{stream.topic}[0] at offset 1: the value is not JSON"
    assert f"warning: 1 record in quarantine, invalid_json; the first is {where}" in told


def test_a_quarantined_record_that_is_quoted_fills_no_terminal(capture, capsys):
    stream = Stream()
    stream.change("c", 1, 10, name="A")
    stream.add(b'{"id":1}', json.dumps({"op": "x" * 5000, "source": {}}).encode())
    assert cli.main(["history", capture(stream.records)]) == 0
    (told,) = [line for line in capsys.readouterr().err.splitlines() if "unknown_op" in line]
    assert "op is 'xxx" in told
    assert len(told) < 400


def test_the_topic_of_a_table_without_its_prefix_is_doubted(capture, capsys, tmp_path):
    stream = Stream()
    stream.change("c", 1, 10, name="A")
    spec = tmp_path / "shop.toml"
    text = 'connector = "postgresql"\n[kafka]\ntopic_prefix = "shop"\n[[table]]\ntopic = "{}"\n'
    said = "[[table]] public.t: the topic is none of shop.…; unless a transformation gives it that"
    spec.write_text(text.format("public.t"))
    assert cli.main(["history", capture(stream.records), "--spec", str(spec)]) == 0
    assert f"warning: {spec}: {said}" in capsys.readouterr().err
    assert cli.main(["check", str(spec)]) == 0
    assert f"{spec}: note: {said}" in capsys.readouterr().out
    spec.write_text(text.format(stream.topic))
    assert cli.main(["check", str(spec)]) == 0
    assert "note" not in capsys.readouterr().out


ABSURD = '{"topic": "t", "partition": 0, "offset": 0, "ts": 1e400, "key": "{}", "payload": null}'


YEAR_ZERO = ABSURD.replace("1e400", "-62135596800001")
NO_LIST = ABSURD.replace('"ts": 1e400', '"headers": {"a": "b"}')


@pytest.mark.parametrize(
    "line", ["not json", "5", "[]", '{"topic": "t"}', ABSURD, YEAR_ZERO, NO_LIST]
)
def test_a_capture_that_is_none_ends_with_two_and_names_the_line(line, tmp_path, capsys):
    path = tmp_path / "broken.jsonl"
    path.write_text(line + "\n")
    assert cli.main(["history", str(path)]) == 2
    assert "broken.jsonl:1" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("topic", None),
        ("topic", ""),
        ("partition", None),
        ("offset", 1.5),
        ("offset", -1),
        ("offset", "9" * 5000),
    ],
)
def test_a_record_that_does_not_say_where_it_stands_is_none(field, value, tmp_path, capsys):
    record = {"topic": "t", "partition": 0, "offset": 0, "key": "{}", "payload": None}
    path = tmp_path / "capture.jsonl"
    path.write_text(json.dumps(record | {field: value}))
    assert cli.main(["history", str(path)]) == 2
    assert (
        f"capture.jsonl:1: not a record as `kcat -J` prints it ({field} is"
        in capsys.readouterr().err
    )


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


def packed(path):
    path.write_bytes(gzip.compress(path.read_bytes()))


def marked(path):
    path.write_bytes(b"\xef\xbb\xbf" + path.read_bytes())


@pytest.mark.parametrize("changed", [[], [packed], [marked], [marked, packed]])
def test_a_capture_may_be_compressed_and_begin_with_a_byte_order_mark(changed, capture, capsys):
    stream = Stream()
    stream.change("c", 1, 10, name="Ä")
    path = capture(stream.records)
    for change in changed:
        change(Path(path))
    assert cli.main(["history", path]) == 0
    assert json.loads(capsys.readouterr().out)["name"] == "Ä"


@pytest.mark.parametrize(
    "damage",
    [
        lambda packed: packed[:-9],
        lambda packed: packed[:2] + b"x" + packed[3:],
        lambda packed: packed[:20] + b"xxxxxxxx" + packed[28:],
    ],
    ids=["cut", "no deflate", "overwritten"],
)
def test_a_damaged_archive_ends_with_two_in_one_line(damage, capture, capsys):
    stream = Stream()
    stream.change("c", 1, 10, name="A")
    path = Path(capture(stream.records))
    path.write_bytes(damage(gzip.compress(path.read_bytes())))
    assert cli.main(["history", str(path)]) == 2
    printed = capsys.readouterr().err
    assert "capture.jsonl" in printed
    assert printed.count("\n") == 1


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


@pytest.mark.parametrize("taken", ["the capture", "a link to it", "the source file"])
def test_a_quarantine_never_takes_the_place_of_what_is_read(taken, capture, tmp_path, capsys):
    stream = Stream()
    stream.change("c", 1, 10, name="A")
    path, link, spec = Path(capture(stream.records)), tmp_path / "link", tmp_path / "shop.toml"
    spec.write_text('connector = "postgresql"\n[kafka]\ntopic_prefix = "shop"\n')
    link.symlink_to(path)
    before = path.read_bytes(), spec.read_bytes()
    where = {"the capture": path, "a link to it": link, "the source file": spec}[taken]
    told = ["--spec", str(spec), "--quarantine", str(where)]
    assert cli.main(["history", str(path), *told]) == 2
    assert (path.read_bytes(), spec.read_bytes()) == before
    assert f"quarantine {where} is what is read" in capsys.readouterr().err


@pytest.mark.parametrize("command", [["history"], ["explain", "--table", "item", "--key", "1"]])
def test_a_source_file_that_no_record_is_of_is_told(command, capture, tmp_path, capsys):
    stream = Stream()
    stream.change("c", 1, 10, name="A")
    spec = tmp_path / "other.toml"
    spec.write_text('connector = "postgresql"\n[kafka]\ntopic_prefix = "other"\n')
    assert cli.main([*command, capture(stream.records), "--spec", str(spec)]) == 2
    told = f"whose topics are other.…; the first is of {stream.topic}"
    assert told in capsys.readouterr().err


def test_explain_says_why_there_is_no_table(capture, tmp_path, capsys):
    stream = Stream()
    stream.change("c", 1, 10, name="A")
    spec = tmp_path / "shop.toml"
    spec.write_text('connector = "mysql"\n[kafka]\ntopic_prefix = "shop"\n')
    asked = ["--table", "item", "--key", "1", "--spec", str(spec)]
    assert cli.main(["explain", capture(stream.records), *asked]) == 2
    told = "1 records are quarantined, the first as unknown_connector: source.connector is"
    assert told in capsys.readouterr().err


def test_a_source_file_may_begin_with_a_byte_order_mark(tmp_path):
    spec = tmp_path / "shop.toml"
    spec.write_text('\ufeffconnector = "mysql"\n[kafka]\ntopic_prefix = "p"\n', encoding="utf-8")
    assert cli.main(["check", str(spec)]) == 0


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


@pytest.mark.parametrize("number", ["x", "0", "-1", "1e3", "1.5", ""])
def test_a_number_of_batches_that_is_none_says_what_one_is(number, capsys):
    with pytest.raises(SystemExit) as ended:
        cli.main(["history", "capture.jsonl", f"--batches={number}"])
    assert ended.value.code == 2
    told = f"must be a whole number, 1 or more, not '{number}'"
    assert told in capsys.readouterr().err


# ------------------------------------------------------------------------------- standard output

FULL = Path("/dev/full")
BUFFERED = {name: value for name, value in os.environ.items() if name != "PYTHONUNBUFFERED"}
ENVIRONMENTS = [BUFFERED, {**BUFFERED, "PYTHONUNBUFFERED": "1"}]


def strandline(*arguments, **options):
    """What the command does as a process of its own."""
    return subprocess.Popen(
        [sys.executable, "-m", "strandline", *arguments],
        stderr=subprocess.PIPE,
        **options,
    )


@pytest.fixture(params=["history", "explain", "check", "--help"])
def command(request, capture, tmp_path):
    """Commands with output."""
    stream = Stream()
    stream.change("c", 1, 10, name="Ä")
    spec = tmp_path / "shop.toml"
    spec.write_text('connector = "postgresql"\n[kafka]\ntopic_prefix = "shop"\n')
    path = capture(stream.records)
    return {
        "history": ["history", path],
        "explain": ["explain", path, "--table", stream.topic, "--key", "1"],
        "check": ["check", str(spec)],
        "--help": ["--help"],
    }[request.param]


@pytest.mark.skipif(not FULL.exists(), reason="needs a device that is always full")
def test_output_that_cannot_be_written_is_told_in_one_line(command):
    with FULL.open("w") as full, strandline(*command, stdout=full, env=BUFFERED) as process:
        *_, last = process.stderr.read().decode().splitlines()
    assert process.returncode == 2
    assert last == "strandline: cannot write standard output: No space left on device"


@pytest.mark.parametrize("environment", ENVIRONMENTS, ids=["buffered", "unbuffered"])
def test_a_reader_that_has_gone_is_no_error(command, environment):
    with strandline(*command, stdout=subprocess.PIPE, env=environment) as process:
        process.stdout.close()
        told = process.stderr.read().decode()
    assert process.returncode == 0
    assert "Broken" not in told
    assert "Traceback" not in told


def test_history_is_utf_8_and_the_rest_what_the_terminal_has(command):
    environment = {**BUFFERED, "PYTHONIOENCODING": "ascii"}
    with strandline(*command, stdout=subprocess.PIPE, env=environment) as process:
        printed = process.stdout.read()
    assert process.returncode == 0
    assert ("Ä" in printed.decode()) == ("history" in command)
