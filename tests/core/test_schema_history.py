"""Which table's definition a record without schema is read by."""

import pytest

from strandline.connectors import CONNECTORS
from strandline.record import Coordinates
from strandline.schema_history import history, schema_change


def ddl(identity, *columns, name="server"):
    """A DDL event of a connector that calls itself `name`."""
    described = [{"name": column, "typeName": "INT"} for column in columns]
    return {
        "source": {"name": name, "file": "binlog.000001", "pos": 4},
        "ddl": "CREATE TABLE",
        "tableChanges": [{"type": "CREATE", "id": identity, "table": {"columns": described}}],
    }


def told(*events):
    changes = [
        schema_change(Coordinates("ddl", 0, offset), event) for offset, event in enumerate(events)
    ]
    return history([change for change in changes if change], CONNECTORS["mysql"])


def of(tables, topic, scope=None):
    """The table whose definition counts; each test's tables have a column called like them."""
    return next(iter(told(*(ddl(table, table) for table in tables)).of(topic, scope)), None)


@pytest.mark.parametrize(
    ("topic", "tables", "expected"),
    [
        ("server.shop.item", ["archive.item", "shop.item"], "shop.item"),
        ("server.shop.item", ["archive.item"], None),
        ("shop.item", ["archive.item", "shop.item"], "shop.item"),
        ("server.item", ["shop.item"], "shop.item"),
        ("item", ["shop.item"], "shop.item"),
        ("item", ["shop.item", "archive.item"], None),
        ("server.shop.dbo.item", ["archive.dbo.item", "shop.dbo.item"], "shop.dbo.item"),
        ("server.shop.dbo.item", ["archive.dbo.item"], None),
        ("server.dbo.item", ["shop.dbo.item"], "shop.dbo.item"),
        ("server.SHOP.ITEM", ["SHOPDB.SHOP.ITEM"], "SHOPDB.SHOP.ITEM"),
        ("server.SHOP.ITEM", ["SHOPDB.SHOP.ITEM", "OLDDB.SHOP.ITEM"], None),
        ("ddl.SHOP.ITEM", ["SHOPDB.SHOP.ITEM"], "SHOPDB.SHOP.ITEM"),
        ("server.shop.big.item", ["big.item", "shop.big.item"], "shop.big.item"),
        ("server.shop.feed", ["shop.item"], None),
    ],
)
def test_without_a_scope_the_topic_names_the_table(topic, tables, expected):
    assert of(tables, topic) == expected


@pytest.mark.parametrize(
    ("scope", "tables", "expected"),
    [
        ("shop.item", ["archive.item", "shop.item"], "shop.item"),
        ("shop.item", ["archive.item"], None),
        ("item", ["shop.item"], "shop.item"),
        ("item", ["shop.item", "archive.item"], None),
        ("SHOP.ITEM", ["SHOPDB.SHOP.ITEM"], "SHOPDB.SHOP.ITEM"),
    ],
)
def test_a_scope_decides_in_whichever_topic_it_comes(scope, tables, expected):
    assert of(tables, "server.shop.feed", scope) == expected


def test_a_scope_without_a_database_is_completed_by_the_topic():
    assert of(["archive.item", "shop.item"], "server.shop.item", "item") == "shop.item"
    assert of(["archive.item"], "server.shop.item", "item") is None
