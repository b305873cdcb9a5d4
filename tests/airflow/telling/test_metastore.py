"""Publications in a Hive metastore, which is a real one: that which Spark brings along."""

import functools
import itertools
import json
import shutil
from pathlib import Path

import pyarrow as pa
import pytest
from cryptography import x509
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.serialization import pkcs12
from deltalake import DeltaTable, write_deltalake
from pymetastore.hive_metastore.ttypes import Database
from servers import certificates
from stages import metastore_stage
from stages.page_stage import ORDERS
from strandline_airflow.dag import source_dags
from strandline_airflow.metastore.client import Metastore
from strandline_airflow.metastore.entries import Entries
from strandline_airflow.metastore.registration import register

from strandline.errors import Terminal, Transient
from strandline.runs.manifest import Work
from strandline.sources import source as source_file

CONNECTION = "AIRFLOW_CONN_METASTORE_DEFAULT"
KEY = '{"id":1}'
NUMBERS = itertools.count()


@pytest.fixture(scope="module")
def hive(tmp_path_factory):
    with metastore_stage.opened(tmp_path_factory.mktemp("hive")) as hive:
        yield hive


@pytest.fixture
def says(source_path, hive, monkeypatch):
    """The source with a database of its own in the catalog, and what else is said of it."""
    monkeypatch.setenv(CONNECTION, hive.connection())
    plain, database = source_path.read_text(), f"shop{next(NUMBERS)}"

    def says(text="", names=""):
        section = f'[catalog]\ndatabase = "{database}"\n{text}\n[catalog.names]\n{names}'
        source_path.write_text(plain + section)
        return source_file.load(source_path)

    return says


@pytest.fixture
def metastore(says):  # noqa: ARG001 - which sets the connection
    with Metastore("metastore_default") as metastore:
        yield metastore


@pytest.fixture
def run(arrive, publish, history):
    """Publishes one more run; the version of the history is the run's."""
    versions = itertools.count()

    def run(**fields):
        history({"key": KEY, **fields})
        arrive(ORDERS, 1)
        publish(orders={"history_version": next(versions)})

    return run


@pytest.fixture
def history_of(lake):
    """Adds a version of a row that has one more column to the history."""

    def write(**more):
        path = lake.history("orders")
        rows = DeltaTable(path).to_pyarrow_table().to_pylist()
        write_deltalake(
            path,
            pa.Table.from_pylist([{**row, **more} for row in rows]),
            mode="append",
            schema_mode="merge",
        )

    return write


def test_only_a_source_with_a_catalog_registers_behind_its_publications(says, source_path):
    dags = [dag for dag in source_dags(source_path) if dag.has_task("publish")]
    assert not any(dag.has_task("register") for dag in dags)
    says()
    for dag in source_dags(source_path):
        if dag.has_task("publish"):
            assert dag.get_task("register").upstream_task_ids == {"publish"}


def test_a_publication_gives_a_history_its_views_and_its_cut(run, says, metastore, lake):
    run()
    source = says()
    database = source.catalog.database
    register(source)
    found = metastore_stage.known(metastore, database)
    assert found["orders"] == f"file:{lake.history('orders')}"
    assert found["publications"] == f"file:{lake.publications}"
    assert found["orders_published"].endswith(f"FROM `{database}`.`orders` VERSION AS OF 0")
    rows = f"FROM `{database}`.`orders_published` WHERE _is_current"
    assert found["orders_current"].endswith(rows)
    assert "`id`, `name`, `_valid_from`" in found["orders_current"]
    assert "`_key`" not in found["orders_current"]
    assert metastore.functions(database) == {"orders_as_of"}
    cut = metastore_stage.known(metastore, f"{database}_at_1")
    assert list(cut) == ["orders"]
    assert cut["orders"].endswith(f"FROM `{database}`.`orders` VERSION AS OF 0")


def test_registering_what_is_registered_changes_nothing(run, says, metastore, caplog):
    run()
    source = says()
    register(source)
    before = metastore.tables(source.catalog.database)
    with caplog.at_level("INFO"):
        register(source)
    assert caplog.messages[-1].endswith(": as it was")
    assert metastore.tables(source.catalog.database) == before


def test_what_somebody_dropped_or_changed_is_mended_by_the_next_run(run, says, metastore):
    run()
    source = says()
    database = source.catalog.database
    register(source)
    before = metastore_stage.known(metastore, database)
    metastore.drop_table(database, "orders")
    wrong = Entries(source.name, "somebody")
    schema = '{"type":"struct","fields":[{"name":"id","type":"long"}]}'
    metastore.alter_table(wrong.current(database, "orders", schema))
    metastore.drop_function(database, "orders_as_of")
    metastore.create_function(wrong.as_of(database, "orders", schema))
    register(source)
    assert metastore_stage.known(metastore, database) == before
    assert "_entity_id" in metastore.function(database, "orders_as_of").resourceUris[0].uri


def test_what_is_committed_and_not_published_is_in_no_view(run, says, metastore, history):
    run()
    source = says()
    register(source)
    before = metastore.tables(source.catalog.database)
    history({"key": KEY}, {"key": '{"id":2}'})
    register(source)
    assert metastore.tables(source.catalog.database) == before


def test_a_table_without_news_is_not_read_for_its_columns(run, says, metastore, lake):
    run()
    source = says()
    register(source)
    before = metastore.tables(source.catalog.database)
    shutil.rmtree(lake.history("orders"))
    register(source)
    assert metastore.tables(source.catalog.database) == before


def test_a_history_that_is_not_there_is_told(run, says, lake, metastore):
    run()
    shutil.rmtree(lake.history("orders"))
    with pytest.raises(Terminal, match="which is published: restore it"):
        register(says())
    assert metastore.tables(says().catalog.database) == []


def test_a_column_that_came_is_in_the_views(run, says, metastore, history_of, publish, arrive):
    run()
    source = says()
    register(source)
    history_of(new="text")
    arrive(ORDERS, 1)
    publish(orders={"history_version": 1})
    register(source)
    database = source.catalog.database
    assert "`new`" in metastore_stage.known(metastore, database)["orders_current"]
    assert "`new`" in metastore.function(database, "orders_as_of").resourceUris[0].uri
    cut = metastore_stage.known(metastore, source.catalog.cut(1))
    assert "`new`" not in cut["orders"]


def test_a_registration_that_was_killed_at_any_step_is_done_by_its_repetition(
    run, says, metastore, monkeypatch
):
    run()
    source = says("publications = 1")
    register(source)
    run()
    killed = 0
    while not done_but_for_one_step(source, monkeypatch):
        killed += 1
    assert killed == 4  # between a view altered, a database and a view made, those before dropped
    assert metastore.databases(source.catalog.cut("*")) == [source.catalog.cut(2)]
    cut = metastore_stage.known(metastore, source.catalog.cut(2))
    assert cut["orders"].endswith("VERSION AS OF 1")


def done_but_for_one_step(source, monkeypatch):
    """Lets a registration change one thing and dies at the next; True where there is none."""
    left = iter([1])

    def dying(metastore, *names, call):
        if next(left, None) is None:
            raise KeyboardInterrupt
        return call(metastore, *names)

    with monkeypatch.context() as killed:
        for name in vars(Metastore):
            if name.startswith(("create_", "alter_", "drop_")):
                call = getattr(Metastore, name)
                killed.setattr(Metastore, name, functools.partialmethod(dying, call=call))
        try:
            register(source)
        except KeyboardInterrupt:
            return False
    return True


def test_a_table_that_is_given_another_name_loses_the_one_before(run, says, metastore):
    run()
    database = says().catalog.database
    register(says())
    register(says(names='"orders" = "sales"'))
    found = metastore_stage.known(metastore, database)
    assert sorted(found) == ["publications", "sales", "sales_current", "sales_published"]
    assert metastore.functions(database) == {"sales_as_of"}
    cut = metastore_stage.known(metastore, f"{database}_at_1")
    assert list(cut) == ["sales"]


def test_a_table_that_moves_to_another_lake_is_registered_there(run, says, source_path, metastore):
    run()
    database = says().catalog.database
    register(says())
    before = source_file.load(source_path).lake
    shutil.copytree(before, f"{before} two")
    source_path.write_text(source_path.read_text().replace(before, f"{before} two"))
    register(source_file.load(source_path))
    assert metastore_stage.known(metastore, database)["orders"].startswith(f"file:{before} two/")


def test_the_cuts_of_as_many_publications_stay_as_the_file_says(run, says, metastore):
    source = says("publications = 2")
    for _ in range(3):
        run()
        register(source)
    cuts = metastore.databases(source.catalog.cut("*"))
    assert sorted(cuts) == [source.catalog.cut(2), source.catalog.cut(3)]
    register(says("publications = 0"))
    assert metastore.databases(source.catalog.cut("*")) == []


def test_a_cut_of_before_an_erasure_goes_as_its_versions_do(run, order, says, metastore):
    source = says()
    run()
    register(source)
    run()
    register(source)
    order(Work.ERASE, orders={"history_version": 1})
    register(source)
    assert metastore.databases(source.catalog.cut("*")) == [source.catalog.cut(3)]


def test_a_cut_in_which_somebody_has_put_something_is_not_dropped(run, says, metastore, caplog):
    source = says("publications = 1")
    run()
    register(source)
    first = source.catalog.cut(1)
    metastore.create_table(Entries("theirs", "").table(first, "theirs", "/theirs"))
    run()
    register(source)
    assert set(metastore_stage.known(metastore, first)) == {"orders", "theirs"}
    assert "is not dropped: it has what Strandline did not make" in caplog.text


def test_what_is_not_the_sources_stays_and_all_else_is_registered(run, says, metastore):
    run()
    source = says()
    database = source.catalog.database
    register(source)
    metastore.drop_table(database, "orders_current")
    metastore.drop_table(database, "publications")
    metastore.create_table(Entries("theirs", "").table(database, "orders_current", "/theirs"))
    with pytest.raises(Terminal, match=rf"{database}\.orders_current is there, and not of source"):
        register(source)
    found = metastore_stage.known(metastore, database)
    assert found["orders_current"] == "file:/theirs"
    assert "publications" in found


def test_a_database_of_the_name_of_a_cut_that_is_not_the_sources_is_left_alone(
    run, says, metastore
):
    run()
    source = says()
    cut = source.catalog.cut(1)
    metastore.create_database(Database(cut, "theirs"))
    with pytest.raises(Terminal, match=f"{cut} is there, and not of source 'shop'"):
        register(source)
    assert metastore.tables(cut) == []


def test_two_tables_of_one_name_are_told_with_the_remedy_and_the_first_is_there(
    run, arrive, publish, says, metastore
):
    run()
    source = says(names='"orders" = "public"')
    arrive("shop.public", 1)
    publish(orders={"history_version": 0}, public={"history_version": 0})
    with pytest.raises(Terminal, match="table 'public': its name there, 'public', clashes with"):
        register(source)
    assert "public_current" in metastore_stage.known(metastore, source.catalog.database)


def test_a_table_without_a_history_yet_has_no_entry(arrive, publish, says, metastore):
    arrive(ORDERS, 1)
    publish(orders={"error": "no key", "history_version": -1})
    register(says())
    assert metastore.database(says().catalog.database) is None


def test_a_metastore_that_is_away_is_told_and_what_was_missed_is_made_up_for(
    run, says, hive, monkeypatch, metastore
):
    run()
    source = says()
    monkeypatch.setenv(CONNECTION, hive.connection(port=1))
    with pytest.raises(Transient, match=r"127\.0\.0\.1:1.*cannot be reached.*what is published"):
        register(source)
    monkeypatch.setenv(CONNECTION, hive.connection())
    register(source)
    assert "orders" in metastore_stage.known(metastore, source.catalog.database)


def test_of_several_addresses_the_first_that_answers_is_asked(says, hive, monkeypatch):
    says()
    monkeypatch.setenv(CONNECTION, hive.connection(host="127.0.0.2, 127.0.0.1"))
    with Metastore("metastore_default") as metastore:
        assert "default" in metastore.databases("*")


@pytest.mark.heavy
@pytest.mark.usefixtures("airflow_database")
def test_a_metastore_over_tls_is_asked_where_its_certificate_is_trusted(tmp_path, monkeypatch):
    certificate, key = certificates.written(tmp_path, "hive")
    store = {
        "hive__metastore__use__SSL": "true",
        "hive__metastore__keystore__path": str(keystore(tmp_path, certificate, key)),
        "hive__metastore__keystore__password": "secret",
    }
    with metastore_stage.opened(tmp_path, **store) as hive:
        trusting = {"ssl": True, "ca": certificate}
        monkeypatch.setenv(CONNECTION, hive.connection(extra=trusting))
        with Metastore("metastore_default") as metastore:
            assert metastore.databases("*") == ["default"]
        monkeypatch.setenv(CONNECTION, hive.connection(extra={"ssl": True}))
        with pytest.raises(Transient, match="cannot be reached"):
            Metastore("metastore_default")


def keystore(folder, certificate, key):
    """The certificate and its key in a file as Java reads it."""
    found = x509.load_pem_x509_certificate(Path(certificate).read_bytes())
    private = serialization.load_pem_private_key(Path(key).read_bytes(), None)
    locked = serialization.BestAvailableEncryption(b"secret")
    path = folder / "hive.p12"
    path.write_bytes(pkcs12.serialize_key_and_certificates(b"hive", private, found, None, locked))
    return path


@pytest.mark.parametrize(
    ("connection", "said"),
    [
        (None, "no Airflow connection 'metastore_default', which .catalog. names: create it"),
        ({"conn_type": "generic"}, "has no host: give it that of the Hive metastore"),
        (
            {"conn_type": "generic", "host": "h", "extra": {"ssl": True, "ca": "/nowhere"}},
            "a file that its extra names is no certificate",
        ),
    ],
)
@pytest.mark.usefixtures("airflow_database")
def test_a_connection_that_cannot_be_used_is_told_with_the_remedy(connection, said, monkeypatch):
    monkeypatch.delenv(CONNECTION, raising=False)
    if connection:
        monkeypatch.setenv(CONNECTION, json.dumps(connection))
    with pytest.raises(Terminal, match=said):
        Metastore("metastore_default")
