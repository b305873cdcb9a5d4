"""The rows of a database, copied into the lake to be compared."""

import json
import sqlite3
from contextlib import closing

import pytest
from deltalake import DeltaTable
from strandline_airflow.forms import database

from strandline.errors import Terminal


@pytest.fixture
def uri(tmp_path, monkeypatch):
    """Where the copy goes; the database has two tables, and the connection `shop_db`."""
    path = tmp_path / "shop.db"
    with closing(sqlite3.connect(path)) as shop, shop:
        shop.execute("CREATE TABLE item (id INTEGER, name TEXT)")
        shop.execute("CREATE TABLE stock (id INTEGER, ID2 INTEGER)")
        shop.execute("INSERT INTO item VALUES (1, 'ada')")
        shop.execute("INSERT INTO stock VALUES (1, 7)")
    connection = json.dumps({"conn_type": "sqlite", "host": str(path)})
    monkeypatch.setenv("AIRFLOW_CONN_SHOP_DB", connection)
    return str(tmp_path / "copy")


def test_the_rows_are_copied_as_texts(uri):
    database.copied("shop_db", "SELECT * FROM item", uri)
    assert DeltaTable(uri).to_pyarrow_table().to_pylist() == [{"id": "1", "name": "ada"}]


@pytest.mark.parametrize(
    ("query", "what"),
    [
        ("SELECT * FROM item JOIN stock USING (id) JOIN item AS o USING (id)", "'name' more than"),
        ("SELECT item.id, stock.id FROM item, stock", "'id' more than once"),
        ("SELECT id, name AS ID FROM item", "'id' more than once, capitals aside"),
        ("SELECT id, name AS '' FROM item", "what has no name"),
    ],
)
def test_columns_that_cannot_be_told_apart_are_refused_and_the_last_copy_stays(uri, query, what):
    database.copied("shop_db", "SELECT * FROM item", uri)
    with pytest.raises(Terminal, match=f"selects {what}.*name of its own") as refused:
        database.copied("shop_db", query, uri)
    assert "shop_db" in str(refused.value)
    assert DeltaTable(uri).version() == 1
    assert DeltaTable(uri).to_pyarrow_table().num_rows == 1


def test_a_connection_that_is_not_there_is_refused_without_asking_it(uri):
    assert uri
    database.check("shop_db")
    with pytest.raises(Terminal, match=r"no Airflow connection 'nope'.*AIRFLOW_CONN_NOPE"):
        database.check("nope")
