"""Which table's definition a record without schema is read by."""

import pytest

from strandline.changes.record import Coordinates
from strandline.changes.rules import TableRules
from strandline.connectors import CONNECTORS
from strandline.formats.schema_history import history, schema_change


def ddl(identity, *columns, of="INT", **source):
    """A DDL event of a connector that calls itself `server`."""
    described = [{"name": column, "typeName": of} for column in columns]
    return {
        "source": {"name": "server", "file": "binlog.000001", "pos": 4, **source},
        "ddl": "CREATE TABLE",
        "tableChanges": [{"type": "CREATE", "id": identity, "table": {"columns": described}}],
    }


def told(*events):
    changes = [
        schema_change(Coordinates("ddl", 0, offset), event) for offset, event in enumerate(events)
    ]
    return history(changes, CONNECTORS["mysql"], TableRules().epoch)


def of(tables, topic, scope=None):
    """The table whose definition counts; each test's tables have a column called like them."""
    found = told(*(ddl(table, table) for table in tables)).of(topic, scope)
    return next((name for each in found for name in each.columns), None)


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


def test_the_later_in_the_log_counts_and_files_are_numbers():
    events = [
        ddl("shop.item", "n", of="BIGINT", file="binlog.1000000", pos=4),
        ddl("shop.item", "n", of="INT", file="binlog.999999", pos=500),
    ]
    assert told(*events).of("server.shop.item")[-1].columns["n"].spark == "bigint"
    unplaced = ddl("shop.item", "n", of="SMALLINT", file=None)
    assert told(*events, unplaced).of("server.shop.item")[-1].columns["n"].spark == "smallint"


def test_a_new_lineage_of_the_log_comes_after_the_one_before():
    old = ddl("shop.item", "n", of="INT", file="binlog.000009")
    new = ddl("shop.item", "n", of="BIGINT", file="binlog.000001")
    changes = [
        schema_change(Coordinates("ddl", 0, 1), old, stored=1),
        schema_change(Coordinates("ddl", 0, 2), new, stored=2),
    ]
    found = history(changes, CONNECTORS["mysql"], lambda stored: stored).of("server.shop.item")
    assert [each.columns["n"].spark for each in found] == ["int", "bigint"]


def test_in_a_capture_of_several_sources_each_defines_its_own_tables():
    of_one, of_other = (
        schema_change(
            Coordinates(name, 0, 0), ddl("shop.item", name, name=name, connector=connector)
        )
        for name, connector in (("one", "mysql"), ("other", "mariadb"))
    )
    known = history([of_one, of_other], None, TableRules().epoch)
    for name in ("one", "other"):
        for found in (
            known.of(f"{name}.shop.item", "shop.item"),
            known.of_tombstones(f"{name}.shop.item", {"shop.item"}),
        ):
            assert [list(each.columns) for each in found] == [[name]]
    assert known.of("one.shop.goods", "shop.goods") == ()
