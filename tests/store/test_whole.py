"""The whole on a lake in an object store: from Kafka by the DAGs to the page, alone and by Spark.

Spark is started by `spark-submit`, with the settings that the images have; nothing is told to it
or to Airflow but the variables that compose.yaml has.
"""

import pyarrow.parquet as pq
import pytest
from stages import s3_stage
from stages.page_stage import airflow, client
from stages.shop_stage import opened

from examples.embedded_kafka import EmbeddedKafka

pytestmark = pytest.mark.heavy

SPARK = '[spark]\nway = "spread"\n[spark.conf]\n"spark.driver.memory" = "1g"\n'


ALONE = pytest.mark.parametrize("shop", ["alone"], indirect=True)


@pytest.fixture(scope="module", params=["alone", "spread"])
def shop(request, store, tmp_path_factory):
    """A shop after two runs: bob was ada, and somebody's record could not be read."""
    folder, spark = tmp_path_factory.mktemp("shop"), request.param == "spread"
    lake = f"s3a://{store.bucket}/{request.param}"
    first = "" if spark else 'engine = "alone"\n'
    with (
        pytest.MonkeyPatch.context() as environment,
        EmbeddedKafka() as broker,
        opened(folder, broker, None, first, lake) as shop,
    ):
        for name, value in store.environment.items():
            environment.setenv(name, value)
        if spark:
            own = (s3_stage.of_spark(store.endpoint) | s3_stage.LOG_STORE).items()
            shop.says(SPARK + "".join(f'"{name}" = "{value}"\n' for name, value in own))
        stream = shop.stream
        stream.change("c", 1, 10, name="ada")
        stream.change("c", 2, 11, name="wilhelmina")
        stream.add(b"{}", b"no json")
        shop.land()
        shop.states = [shop.trigger("compact")]
        stream.change("u", 1, 20, name="bob")
        shop.land()
        shop.states.append(shop.trigger("compact"))
        yield shop


def test_what_landed_from_kafka_is_compacted_and_published(shop):
    assert [set(states.values()) for states in shop.states] == [{"success"}] * 2
    assert shop.history() == ["1: ada|update", "1: bob", "2: wilhelmina"]
    row = shop.published()
    assert (row.counts.history_rows, row.counts.current_rows) == (3, 2)
    assert len(shop.rows(shop.lake.quarantine)) == 1


@pytest.mark.usefixtures("shop")
def test_the_page_shows_it():
    with airflow() as server:
        see = client(server, "ann", "a")
        assert "public.item" in see.get("").text
        found = see.get("key", params={"source": "shop", "table": "public.item", "key": "1"})
    assert found.status_code == 200
    assert "ada" in found.text
    assert "bob" in found.text


def test_maintenance_is_done_and_leaves_the_history(shop):
    assert set(shop.trigger("maintain", dry_run=False).values()) == {"success"}
    assert shop.history() == ["1: ada|update", "1: bob", "2: wilhelmina"]


@ALONE
def test_an_erasure_leaves_nothing_of_the_key_in_any_file(shop, store):
    erased = shop.trigger("erase", dry_run=False, table="public.item", keys=["2"])
    assert set(erased.values()) == {"success"}
    assert shop.history() == ["1: ada|update", "1: bob"]
    (home,) = store.folder.glob(f"*/{shop.lake.root.rpartition('/')[2]}")
    files = list(home.rglob("*.parquet"))
    assert files
    assert [file for file in files if "wilhelmina" in str(pq.read_table(file).to_pylist())] == []


@ALONE
def test_with_credentials_that_have_ended_nothing_lands_and_with_new_ones_the_next_runs_do_it(
    shop, store, monkeypatch
):
    shop.stream.change("u", 1, 30, name="joe")
    shop.broker.replay(shop.stream.records[shop.sent :])
    shop.sent = len(shop.stream.records)
    store.change_key(f"another-{store.secret}")
    assert "failed" in shop.trigger("land").values()
    for name, value in store.environment.items():
        monkeypatch.setenv(name, value)
    shop.land()
    assert set(shop.trigger("compact").values()) == {"success"}
    assert shop.history() == ["1: ada|update", "1: bob|update", "1: joe"]
