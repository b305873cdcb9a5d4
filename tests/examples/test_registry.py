"""The examples' registry answers as Confluent's contract says, with the schemas of its folder."""

import json
from urllib.error import HTTPError
from urllib.request import urlopen

import pytest
from samples.avro_recording import FOLDER

from examples.registry import serving


def got(address, path):
    with urlopen(f"{address}/{path}", timeout=10) as answer:  # noqa: S310 - of this machine
        return json.load(answer)


def test_a_schema_is_given_by_its_id_with_the_subject_that_it_has():
    with serving(FOLDER / "schemas") as address:
        assert got(address, "schemas/ids/1") == {
            "schema": (FOLDER / "schemas" / "1.avsc").read_text()
        }
        ((subject),) = got(address, "schemas/ids/1/versions?deleted=true")
    assert subject == {"subject": "inventory.public.orders.Key", "version": 1}


@pytest.mark.parametrize("path", ["schemas/ids/99", "subjects/x/versions/1", "schemas/../1", ""])
def test_what_is_not_there_is_said_to_be_not_found(path):
    with serving(FOLDER / "schemas") as address, pytest.raises(HTTPError) as told:
        got(address, path)
    assert told.value.code == 404
    assert json.load(told.value)["error_code"] == 40403


def test_it_listens_on_this_machine_only():
    with serving(FOLDER / "schemas") as address:
        assert address.startswith("http://127.0.0.1:")
