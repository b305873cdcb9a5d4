"""The recording in Avro is the one in JSON, by AvroConverter's rules, and tells the same."""

import pytest
from samples.avro_recording import FOLDER, RECORDED, files

from strandline.formats import capture
from strandline.formats.registry import files as schema_files
from strandline.law import interpret


def written():
    paths = [path for path in FOLDER.rglob("*") if path.is_file() and path.name != "README.md"]
    return {path.relative_to(FOLDER).as_posix(): path.read_text() for path in paths}


def test_the_folder_has_what_is_derived_from_the_recording():
    assert written() == files()


def test_no_record_of_it_is_json():
    """So that nothing of what a connector sends is left out."""
    for record in capture.read([FOLDER / "capture.jsonl"]):
        assert all(part[:1] == b"\0" for part in (record.key, record.value) if part is not None)


@pytest.mark.parametrize("typed", [True, False], ids=["typed", "general"])
def test_it_has_the_history_of_the_recording(typed):
    avro = list(capture.read([FOLDER / "capture.jsonl"]))
    schemas = schema_files.load(FOLDER / "schemas")
    found = interpret(avro, typed=typed, schemas=schemas)
    assert found == interpret(capture.read([RECORDED]), typed=typed)
    assert not found.quarantined
