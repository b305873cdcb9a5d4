"""What is shown of one record: readable where that loses nothing, else as it came."""

from types import SimpleNamespace

import pyarrow as pa
import pytest
from deltalake import DeltaTable, write_deltalake
from strandline_airflow.page.findings.key import _never_seen
from strandline_airflow.page.findings.record import _indented
from strandline_airflow.page.findings.texts import text


@pytest.mark.parametrize(
    ("value", "shown"),
    [
        (b'{"a":1.5}', '{\n  "a": 1.5\n}'),
        (b'{"a":12345678901234567890}', '{\n  "a": 12345678901234567890\n}'),
        (b'{"a":1.50}', '{"a":1.50}'),  # indented, it would have lost a digit
        (b'{"a":0.1234567890123456789}', '{"a":0.1234567890123456789}'),
        (b"no json \xff", "no json \\xff"),
        (b"", ""),
        (None, None),
    ],
)
def test_a_value_is_indented_where_that_keeps_every_digit(value, shown):
    assert _indented(value) == shown


def test_what_is_beside_an_embedded_schema_is_shown_first():
    assert _indented(b'{"schema": {}, "payload": {"a": 1}}', of="payload") == '{\n  "a": 1\n}'
    assert _indented(b'{"payload": 1, "more": 2}', of="payload") is None
    assert _indented(b"[1]", of="payload") is None


def test_a_long_value_is_cut():
    assert text(("ä" * 10).encode(), 3) == "äää…"


@pytest.mark.parametrize(
    ("keys", "says"),
    [
        (3, "; there are "),
        (1_001, "; in a sample of its keys the closest of 1000 are"),
    ],
)
def test_the_closest_keys_are_those_of_a_sample_where_there_are_many(tmp_path, keys, says):
    rows = pa.table({"_key": [f'{{"id":{key}}}' for key in range(keys)]})
    write_deltalake(tmp_path, rows)
    table = SimpleNamespace(table="orders")
    told = _never_seen(DeltaTable(tmp_path), table, '{"id":2000002}', refused=0)
    assert f'orders has never seen a key {{"id":2000002}}{says}' in told
