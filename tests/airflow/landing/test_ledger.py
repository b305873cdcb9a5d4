import pyarrow as pa
import pytest
from strandline_airflow.ledger import Claim, Ledger, Superseded

from strandline.errors import Terminal, Transient

SCHEMA = pa.schema([pa.field("n", pa.int64())])


@pytest.fixture
def ledger(tmp_path):
    return Ledger(str(tmp_path / "ledger"), SCHEMA)


def rows(*numbers):
    return pa.Table.from_pydict({"n": list(numbers)}, SCHEMA)


def numbers(ledger):
    return [row["n"] for row in ledger.rows(ledger.open())]


def test_a_table_that_is_not_there_is_none(ledger):
    assert ledger.open() is None


def test_rows_and_claims_are_one_commit(ledger):
    table = ledger.ensure()
    ledger.append(table, rows(1, 2), [Claim("a", None, 5), Claim("b", None, 7)])
    seen = ledger.open()
    assert seen.version() == 1
    assert [seen.transaction_version(name) for name in "ab"] == [5, 7]
    assert numbers(ledger) == [1, 2]


def test_a_claim_is_committed_without_rows_too(ledger):
    ledger.append(ledger.ensure(), rows(), [Claim("a", None, 5)])
    assert ledger.open().transaction_version("a") == 5
    assert numbers(ledger) == []


def test_a_second_claim_made_from_the_same_look_is_refused_and_commits_nothing(ledger):
    ledger.ensure()
    first, second = ledger.open(), ledger.open()
    ledger.append(first, rows(1), [Claim("a", None, 5)])
    with pytest.raises(Superseded, match="'a'"):
        ledger.append(second, rows(2), [Claim("a", None, 6)])
    assert numbers(ledger) == [1]


def test_claims_of_different_ids_do_not_hinder_each_other(ledger):
    ledger.ensure()
    first, second = ledger.open(), ledger.open()
    ledger.append(first, rows(1), [Claim("a", None, 5)])
    ledger.append(second, rows(2), [Claim("b", None, 6)])
    assert sorted(numbers(ledger)) == [1, 2]


def test_a_claim_that_saw_something_else_is_refused(ledger):
    ledger.append(ledger.ensure(), rows(1), [Claim("a", None, 5)])
    with pytest.raises(Superseded, match="moved 'a' on from 4"):
        ledger.append(ledger.open(), rows(2), [Claim("a", 4, 9)])
    assert numbers(ledger) == [1]


def test_giving_way_is_transient():
    assert issubclass(Superseded, Transient)


def test_rows_are_found_by_their_values(ledger):
    ledger.append(ledger.ensure(), rows(1, 2, 3), [Claim("a", None, 1)])
    assert ledger.rows(ledger.open(), n=2) == [{"n": 2}]


def test_a_place_that_is_no_folder_is_terminal_and_named(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(Terminal, match=rf"{tmp_path}/file/ledger.*may write"):
        Ledger(str(tmp_path / "file" / "ledger"), SCHEMA).ensure()


def test_an_unknown_kind_of_lake_is_terminal():
    with pytest.raises(Terminal, match="Unknown scheme"):
        Ledger("gopher://lake/ledger", SCHEMA).ensure()


def test_a_damaged_log_is_named(ledger, tmp_path):
    ledger.ensure()
    (tmp_path / "ledger" / "_delta_log" / "00000000000000000000.json").write_text("{nonsense")
    with pytest.raises(Transient, match=rf"Delta table {tmp_path}/ledger"):
        ledger.open()
