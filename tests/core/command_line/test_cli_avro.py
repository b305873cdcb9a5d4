"""Captures of Avro on the command line: bytes as base64, schemas from a folder."""

import base64
import json
from pathlib import Path

import pytest
from samples.avro import Registry

from strandline import cli
from strandline.errors import SpecError
from strandline.formats import capture as captures
from strandline.formats.registry import files
from strandline.formats.registry.schemas import SchemaType

EXAMPLES = Path(__file__).parents[3] / "examples"
RECORDINGS = [
    EXAMPLES / name / "capture.jsonl" for name in ("postgres-inventory", "mariadb-inventory")
]
TABLE = "orders"
GUID = "89791762-2336-4186-9674-299b90a802e2"


def base64_of(data):
    return None if data is None else {"base64": base64.b64encode(data).decode()}


@pytest.fixture
def avro(tmp_path):
    """Writes a capture as Avro: where it is and its schemas are, how many records have changed."""

    def write(path):
        registry, before = Registry(), list(captures.read([path]))
        after = registry.records(before)
        folder = tmp_path / "schemas"
        folder.mkdir()
        for name, (schema, _) in registry.stored.items():
            del name
            (folder / f"{schema.id.removeprefix('confluent:')}.avsc").write_text(schema.text)
        written = tmp_path / "avro.jsonl"
        with written.open("w") as file:
            for record in after:
                line = {
                    "topic": record.at.topic, "partition": record.at.partition,
                    "offset": record.at.offset, "ts": record.timestamp,
                    "headers": [of for name, v in record.headers for of in (name, base64_of(v))],
                    "key": base64_of(record.key), "payload": base64_of(record.value),
                }  # fmt: skip
                file.write(json.dumps(line) + "\n")
        changed = sum(a.value != b.value for a, b in zip(after, before, strict=True))
        return str(written), str(folder), changed

    return write


@pytest.mark.parametrize("recording", RECORDINGS, ids=lambda path: path.parent.name)
def test_a_recording_in_avro_has_the_history_of_the_recording(recording, avro, capsys):
    written, folder, changed = avro(recording)
    assert changed > 20
    assert cli.main(["history", str(recording)]) == 0
    expected = capsys.readouterr()
    for batches in ("1", "3"):
        assert cli.main(["history", written, "--schemas", folder, "--batches", batches]) == 0
        assert capsys.readouterr() == expected
    alone = ["--engine", "alone", "--batches", "3"]
    assert cli.main(["history", written, "--schemas", folder, *alone]) == 0
    assert capsys.readouterr().out == expected.out


def test_a_key_of_a_recording_in_avro_is_explained(avro, capsys):
    recording = EXAMPLES / "postgres-inventory" / "capture.jsonl"
    written, folder, _ = avro(recording)
    asked = ["--table", TABLE, "--key", "5"]
    assert cli.main(["explain", str(recording), *asked]) == 0
    expected = capsys.readouterr().out
    assert cli.main(["explain", written, *asked, "--schemas", folder]) == 0
    assert capsys.readouterr().out == expected


def test_without_its_schemas_the_ids_that_are_missing_are_told(avro, capsys):
    written, _, _ = avro(RECORDINGS[0])
    assert cli.main(["history", written]) == 0
    told = capsys.readouterr().err
    assert "unknown_schema" in told
    assert "no schema is known with the id confluent:" in told


def test_bytes_of_a_capture_that_are_no_base64_are_told_with_their_line(tmp_path, capsys):
    path = tmp_path / "capture.jsonl"
    fields = {"topic": "t", "partition": 0, "offset": 0, "key": None}
    for wrong in ("A", "AAA*", 5, None):
        path.write_text(json.dumps({**fields, "payload": {"base64": wrong}}))
        assert cli.main(["history", str(path)]) == 2
        assert "capture.jsonl:1: not a record" in capsys.readouterr().err


def test_the_name_of_a_file_is_the_id_of_its_schema(tmp_path):
    names = {
        "17.avsc": "confluent:17", "confluent-18.avsc": "confluent:18",
        "apicurio-global-1.avsc": "apicurio-global:1",
        "apicurio-content-2.json": "apicurio-content:2",
        f"guid-{GUID}.avsc": f"guid:{GUID}", f"glue-{GUID.upper()}.proto": f"glue:{GUID}",
    }  # fmt: skip
    for name in names:
        (tmp_path / name).write_text('"int"')
    (tmp_path / "README.md").write_text("not a schema")
    found = files.load(tmp_path).known
    assert found.keys() == set(names.values())
    assert found["apicurio-content:2"].type is SchemaType.JSON
    assert found[f"glue:{GUID}"].type is SchemaType.PROTOBUF


def test_a_file_may_be_what_a_registry_answers(tmp_path):
    (tmp_path / "1.json").write_text(json.dumps({"schema": '"int"'}))
    (tmp_path / "2.json").write_text(json.dumps({"schema": "{}", "schemaType": "JSON"}))
    found = files.load(tmp_path).known
    assert [(each.text, each.type) for each in found.values()] == [
        ('"int"', SchemaType.AVRO), ("{}", SchemaType.JSON),
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("name", "text", "words"),
    [
        ("orders.avsc", '"int"', "the name of a schema's file is its id"),
        ("guid-5.avsc", '"int"', "the name of a schema's file is its id"),
        ("1.json", '{"schema": "x", "schemaType": "XML"}', "'schemaType' must be one of AVRO"),
        ("1.json", '{"schema": "x", "references": [{"name": "a"}]}', "write their types out"),
        ("notes.txt", "", "no schema is there; files are called 17.avsc"),
    ],
)
def test_a_folder_of_schemas_that_is_none_is_refused(tmp_path, name, text, words):
    (tmp_path / name).write_text(text)
    with pytest.raises(SpecError, match=words):
        files.load(tmp_path)
    with pytest.raises(SpecError, match="cannot read schemas"):
        files.load(tmp_path / "nowhere")
