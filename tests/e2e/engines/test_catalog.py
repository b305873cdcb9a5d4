"""Histories by name: from Kafka by the DAGs into a metastore, where Spark and Trino find them.

DuckDB reads the same by path.

What is asked is what docs/reading-history.md says, word by word.
"""

import json
import re
import subprocess
from pathlib import Path

import pytest
from samples.events import COLUMNS, Stream
from servers import catalog_reader
from stages import metastore_stage, trino_stage
from stages.shop_stage import opened
from strandline_airflow.metastore.client import Metastore

from examples.embedded_kafka import EmbeddedKafka

pytestmark = pytest.mark.heavy

PROJECT = Path(__file__).parents[3]
DOCUMENT = PROJECT / "docs" / "reading-history.md"
SHELF = "shop.public.shelf"
ODD = {"type": "string", "optional": True, "field": "at"}  # as the function's parameter
MANY = [{**ODD, "field": f"a`column`with.a.long.name.{number}"} for number in range(200)]


def statements(title):
    """The blocks of SQL in a section of the document."""
    [section] = re.findall(
        rf"^## {title}\n(.*?)(?=^## )", DOCUMENT.read_text(), re.MULTILINE | re.DOTALL
    )
    return re.findall(r"```sql\n(.*?)```", section, re.DOTALL)


@pytest.fixture(scope="module")
def hive(tmp_path_factory):
    with metastore_stage.opened(tmp_path_factory.mktemp("hive")) as hive:
        yield hive


@pytest.fixture(scope="module")
def shop(tmp_path_factory, hive):
    """Two tables after three publications: the first is changed by the third alone."""
    folder = tmp_path_factory.mktemp("shop")
    with (
        pytest.MonkeyPatch.context() as environment,
        EmbeddedKafka() as broker,
        opened(folder, broker, None, 'engine = "alone"\n') as shop,
    ):
        environment.setenv("AIRFLOW_CONN_METASTORE_DEFAULT", hive.connection())
        shop.says("[catalog]\n")
        stream, shelf = shop.stream, Stream(SHELF, columns=[*COLUMNS, *MANY])
        broker.create_topic(SHELF, partitions=2)
        stream.columns = [*COLUMNS, ODD]
        stream.change("c", 1, 10, name="ada", more={"at": "home"})
        shop.states = [landed(shop)]
        shelf.change("c", 1, 12, name="top")
        shop.broker.replay(shelf.records)
        stream.change("c", 2, 13, name="eve", more={"at": "sea"})
        shop.states.append(landed(shop))
        stream.change("u", 1, 20, name="bob", more={"at": "work"})
        shop.states.append(landed(shop))
        yield shop


def landed(shop):
    shop.land()
    return shop.trigger("compact")


@pytest.fixture(scope="module")
def spark_says(shop, hive, tmp_path_factory):
    """What one Spark says to the statements of the document, and to some more."""
    current, as_of, joined = statements("By name")
    table, view, function = statements("In a catalog of another kind")
    asked = {
        "current": current,
        "as of": as_of,
        "joined": joined,
        "at 1": "SELECT name FROM shop_at_1.public_item",
        "no shelf": "SELECT * FROM shop_at_1.public_shelf",
        "many columns": (
            "SELECT `a``column``with.a.long.name.199` "
            "FROM shop.public_shelf_as_of(TIMESTAMP '2026-09-22T00:00:00Z')"
        ),
        "columns": "DESCRIBE shop.public_item_current",
        "cuts": "SHOW DATABASES LIKE 'shop_at_*'",
        "publications": "SELECT max(number) FROM shop.publications",
        "database": "CREATE DATABASE other",
        "own table": table.replace("/lake/shop", shop.lake.home),
        "own view": view,
        "own function": function,
        "own rows": "SELECT * FROM other.item_as_of(TIMESTAMP '2026-09-21T14:13:20.000015Z')",
    }
    folder = tmp_path_factory.mktemp("spark")
    return dict(
        zip(asked, catalog_reader.asked(hive.uri, list(asked.values()), folder), strict=True)
    )


def test_every_run_of_the_dag_registers_what_it_published(shop):
    assert [states["register"] for states in shop.states] == ["success"] * 3


def test_a_compaction_with_nothing_new_registers_what_is_missing(shop):
    with Metastore("metastore_default") as metastore:
        metastore.drop_table("shop", "public_shelf_current")
        states = shop.trigger("compact")
        assert (states["publish"], states["register"]) == ("skipped", "success")
        assert "public_shelf_current" in metastore_stage.known(metastore, "shop")


def test_spark_reads_the_rows_of_now_by_name(spark_says):
    rows = [row[:4] for row in spark_says["current"]]
    assert sorted(rows) == [[1, "bob", None, "work"], [2, "eve", None, "sea"]]


def test_spark_reads_the_rows_at_a_time_also_where_a_column_is_called_as_the_parameter(spark_says):
    rows = [row[:4] for row in spark_says["as of"]]
    assert sorted(rows) == [[1, "ada", None, "home"], [2, "eve", None, "sea"]]


def test_spark_reads_several_tables_at_the_cut_of_one_publication(spark_says):
    assert spark_says["joined"] == [["ada", "top"]]
    assert spark_says["at 1"] == [["ada"]]
    assert "TABLE_OR_VIEW_NOT_FOUND" in spark_says["no shelf"]


def test_spark_knows_the_columns_of_a_view_without_those_of_the_engine(spark_says):
    columns = {name: of for name, of, _ in spark_says["columns"]}
    assert columns["_valid_from"] == "timestamp"
    assert columns["_unavailable"] == "array<string>"
    assert "_key" not in columns


def test_spark_reads_a_table_of_many_columns_with_odd_names_at_a_time(spark_says):
    assert spark_says["many columns"] == [[None]]
    with Metastore("metastore_default") as metastore:
        assert len(metastore.function("shop", "public_shelf_as_of").resourceUris) > 2


def test_spark_finds_out_which_publications_can_be_read(spark_says):
    assert spark_says["cuts"] == [["shop_at_1"], ["shop_at_2"], ["shop_at_3"]]
    assert spark_says["publications"] == [[3]]


def test_entries_have_the_form_that_spark_gives_its_own(spark_says):
    made = [spark_says[each] for each in ("own view", "own table", "own function")]
    assert made == [[]] * 3
    assert len(spark_says["own rows"]) == 2
    with Metastore("metastore_default") as metastore:
        theirs = {each.tableName: each for each in metastore.tables("other")}
        ours = {each.tableName: each for each in metastore.tables("shop")}
        for own, their in (("public_item", "item"), ("public_item_current", "item_current")):
            assert told(ours[own]).items() <= told(theirs[their]).items(), own
        functions = [
            metastore.function("shop", "public_item_as_of"),
            metastore.function("other", "item_as_of"),
        ]
    assert len({(each.className, each.functionType) for each in functions}) == 1
    assert {each.resourceUris[0].uri[:4] for each in functions} == {"000{"}


@pytest.fixture(scope="module")
def trino(shop, hive, tmp_path_factory):  # noqa: ARG001 - whose histories are there
    with trino_stage.opened(tmp_path_factory.mktemp("trino"), hive.uri) as trino:
        yield trino


def test_trino_reads_the_rows_of_now_and_those_at_a_time(trino):
    current, as_of, *_ = statements("Trino")
    rows = [row[:4] for row in trino.rows(current)]
    assert sorted(rows) == [[1, "bob", None, "work"], [2, "eve", None, "sea"]]
    assert sorted(row[:4] for row in trino.rows(as_of)) == sorted(rows)


def test_trino_finds_the_versions_of_a_publication_and_reads_several_tables_at_them(trino):
    *_, versions, joined = statements("Trino")
    assert sorted(trino.rows(versions)) == [["public.item", 2], ["public.shelf", 0]]
    assert trino.rows(joined) == [["ada", "top"]]


def test_trino_has_milliseconds_of_a_time(trino):
    [[begun]] = trino.rows("SELECT _valid_from FROM lake.shop.public_item WHERE name = 'bob'")
    assert begun == "2026-09-21 14:13:20.000 UTC"


def test_trino_lists_the_views_of_spark_and_refuses_to_read_them(trino):
    listed = {name for [name] in trino.rows("SHOW TABLES FROM lake.shop")}
    assert {"public_item", "public_item_current", "publications"} <= listed
    with pytest.raises(trino_stage.RefusedError, match="is not a Delta Lake table"):
        trino.rows("SELECT * FROM lake.shop.public_item_current")


def test_duckdb_reads_the_rows_of_now_those_at_a_time_and_those_of_a_publication(shop):
    asked = [text.replace("/lake/shop", shop.lake.home) for text in statements("DuckDB")]
    current, as_of, joined = duckdb_says(asked)
    assert sorted(row[:4] for row in current) == [[1, "bob", None, "work"], [2, "eve", None, "sea"]]
    assert sorted(row[:4] for row in as_of) == [[1, "ada", None, "home"], [2, "eve", None, "sea"]]
    assert joined == [["ada", "top"]]


def duckdb_says(asked):
    """What each text of statements gave last, by a DuckDB with its Delta extension."""
    python = PROJECT / ".venv" / "duckdb" / "bin" / "python"
    if not python.exists():
        raise FileNotFoundError(f"{python} is not there: type sh setup.sh duckdb")
    ran = subprocess.run(
        [python, "-c", DUCKDB],
        input=json.dumps(asked),
        stdout=subprocess.PIPE,
        text=True,
        check=True,
    )
    return json.loads(ran.stdout)


DUCKDB = """
import json, sys
from pathlib import Path
import duckdb, duckdb_extension_delta

[extension] = Path(duckdb_extension_delta.__file__).parent.glob("extensions/*/delta.*")
duckdb.sql(f"LOAD '{extension}'")
asked = json.load(sys.stdin)
print(json.dumps([duckdb.execute(text).fetchall() for text in asked], default=str))
"""


def test_a_metastore_that_is_away_fails_the_registration_and_not_the_publication(
    shop, hive, monkeypatch
):
    monkeypatch.setenv("AIRFLOW_CONN_METASTORE_DEFAULT", hive.connection(port=1))
    before = shop.publications.last_number()
    states = shop.trigger("maintain", dry_run=False)
    assert (states["publish"], states["report"], states["register"]) == (
        "success",
        "success",
        "failed",
    )
    assert shop.publications.last_number() == before + 1


def told(table):
    """What a metastore knows of a table but for its columns, its times and whose it is."""
    own = {"strandline.source", "strandline.version", "transient_lastDdlTime"}
    hidden = re.compile(r"view\.query\.out|spark\.sql\.sources\.schema$")
    view = table.tableType == "VIRTUAL_VIEW"
    return {
        "kind": table.tableType,
        "formats": (table.sd.inputFormat, table.sd.outputFormat),
        "serde": table.sd.serdeInfo.serializationLib,
        "path": table.sd.serdeInfo.parameters.get("path"),
        **{
            name: value
            for name, value in table.parameters.items()
            if name not in own and not (view and hidden.match(name))
        },
    }
