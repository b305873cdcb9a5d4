"""A source that is called otherwise: what docs/deploy.md says goes on, goes on."""

from stages import shop_stage
from strandline_airflow.dag import source_dags

from examples.embedded_kafka import EmbeddedKafka
from strandline.runs.lake import SourceLake
from strandline.sources import source as source_file


def run(path, what, **params):
    name = path.stem
    dag = next(each for each in source_dags(path) if each.dag_id == f"{what}__{name}")
    assert str(dag.test(run_conf=params or None).state) == "success"


def test_a_source_that_is_renamed_goes_on_with_its_landing_its_runs_and_its_history(tmp_path):
    with (
        EmbeddedKafka() as broker,
        shop_stage.opened(tmp_path, broker, None, 'engine = "alone"\n') as shop,
    ):
        shop.stream.change("c", 1, 10, name="ada")
        shop.land()
        run(shop.path, "compact")
        run(shop.path, "replay", swap=True, dry_run=False)
        renamed = shop.path.rename(shop.path.with_name("store.toml"))
        (tmp_path / "lake" / "shop").rename(tmp_path / "lake" / "store")
        shop.stream.change("u", 1, 20, name="bob")
        broker.replay(shop.stream.records[shop.sent :])
        run(renamed, "land")
        run(renamed, "compact")
        source = source_file.load(renamed)
        lake = SourceLake(source.lake, source.name)
        versions = shop.rows(lake.history("public.item"))
        assert sorted((row["name"], row["_is_current"]) for row in versions) == [
            ("ada", False),
            ("bob", True),
        ]
        assert len(shop.rows(lake.landing)) == 2  # nothing is landed twice
        run(renamed, "replay", undo=2, dry_run=False)
        run(renamed, "compact")
        assert len(shop.rows(lake.history("public.item"))) == 2
        assert not (tmp_path / "lake" / "shop").exists()
