import os
import subprocess
import sys
from datetime import timedelta
from pathlib import Path

import pytest
from airflow.dag_processing.dagbag import DagBag
from airflow.sdk.definitions.retry_policy import RetryAction
from airflow.serialization.serialized_objects import DagSerialization
from stages import airflow_stage
from strandline_airflow.dag import load, source_dags
from strandline_airflow.forms import replay
from strandline_airflow.pipelines.names import pool_name

from strandline.errors import SpecError, Terminal, Transient
from strandline.sources import source as source_file

DAGS = airflow_stage.PROJECT / "dags"
FORMS = ("maintain", "replay", "requeue", "erase", "epoch", "backfill", "reconcile", "release")
DAGS_OF_SHOP = [
    *(f"{what}__shop" for what in sorted(("land", "compact", *FORMS))),
    "watch__freshness",
]
TRIGGERED = [f"{what}__shop" for what in FORMS]
HEAVY = ("pyspark", "delta", "confluent_kafka", "deltalake", "pyarrow", "pandas")

LOAD_AND_TELL = """
import sys
from airflow.dag_processing.dagbag import DagBag
bag = DagBag(sys.argv[1])
assert bag.dags and not bag.import_errors, bag.import_errors
print("loaded:", *sorted({name.split(".")[0] for name in sys.modules}))
"""


@pytest.fixture
def folder(source_path):
    """The folder of source files, with the valid `shop.toml` in it."""
    return source_path.parent


def add(folder, name, text):
    (folder / f"{name}.toml").write_text(text)


def bag():
    return DagBag(DAGS)


def steps(dag):
    return [task.task_id for task in dag.topological_sort()]


def test_no_field_of_a_form_has_marks_that_airflow_shows_as_they_stand(source_path):
    for dag in source_dags(source_path):
        for name, field in dag.params.items():
            assert "`" not in dag.params.get_param(name).description, (dag.dag_id, name, field)


def fields(source_path, what):
    dag = next(dag for dag in source_dags(source_path) if dag.dag_id == f"{what}__shop")
    return {name: dag.params.get_param(name) for name in dag.params}


def test_forms_offer_the_tables_that_are_in_the_lake_or_named_in_the_source_file(source_path, lake):
    assert "examples" not in fields(source_path, "replay")["tables"].schema
    for table in ("orders", "odd name"):
        Path(lake.history(table)).mkdir(parents=True)
    source_path.write_text(f'{source_path.read_text()}[[table]]\ntopic = "shop.items"\n')
    several = fields(source_path, "replay")["tables"]
    assert several.schema["examples"] == ["odd name", "orders"]  # it takes no other
    assert "to a line" not in several.description
    assert fields(source_path, "erase")["table"].schema["examples"] == [
        "items",
        "odd name",
        "orders",
    ]


def test_what_a_run_of_one_dag_is_given_is_no_default_of_another(source_path):
    (dag,) = (each for each in source_dags(source_path) if each.dag_id.startswith("replay__"))
    dag.params["swap"] = True  # as `dag.test` does with the configuration of its run
    assert replay.FORM.params["swap"].value is False
    assert fields(source_path, "replay")["swap"].value is False


def test_of_a_lake_behind_a_uri_forms_offer_what_the_source_file_names(source_path):
    text = source_path.read_text()
    source_path.write_text(
        f'{text}[[table]]\ntopic = "shop.items"\n'.replace(f'"{source_path.parents[1]}', '"s3://b')
    )
    assert fields(source_path, "erase")["table"].schema["examples"] == ["items"]
    assert "examples" not in fields(source_path, "replay")["tables"].schema


def test_parsing_the_dags_loads_none_of_the_heavy_packages(tmp_path):
    told = subprocess.run(
        [sys.executable, "-c", LOAD_AND_TELL, str(DAGS)],
        env={**os.environ, "STRANDLINE_LAKE": str(tmp_path)},
        capture_output=True,
        text=True,
        check=True,
    ).stdout
    loaded = told.rpartition("loaded:")[2].split()
    assert "strandline_airflow" in loaded
    assert [name for name in HEAVY if name in loaded] == []


def test_the_source_files_of_the_project_are_right(monkeypatch, tmp_path):
    monkeypatch.setenv("STRANDLINE_LAKE", str(tmp_path))
    loaded = load(DAGS / "sources")
    assert loaded.refused == ()
    named = [source.name for source in loaded.sources]
    assert named == ["mariadb_inventory", "postgres_inventory", "postgres_inventory_avro"]


@pytest.mark.usefixtures("folder")
def test_a_source_has_a_landing_and_a_compaction_dag():
    dags = bag().dags
    assert sorted(dags) == DAGS_OF_SHOP
    assert steps(dags["land__shop"]) == ["plan", "land", "collect", "report"]
    assert steps(dags["compact__shop"]) == ["plan", "compact", "publish", "report"]
    assert {dag.max_active_runs for dag in dags.values()} == {1}
    assert {dag.catchup for dag in dags.values()} == {False}


@pytest.mark.usefixtures("folder")
def test_dags_survive_serialisation():
    for dag in bag().dags.values():
        again = DagSerialization.deserialize_dag(DagSerialization.serialize_dag(dag))
        assert again.task_ids == dag.task_ids


def test_a_broken_source_file_is_an_import_error_and_disturbs_no_other(folder):
    add(folder, "broken", 'connector = "postgresql"\nkafka = 3\n')
    found = bag()
    assert sorted(found.dags) == DAGS_OF_SHOP
    (text,) = found.import_errors.values()
    assert [Path(file).name for file in found.import_errors] == ["strandline_refused.py"]
    assert f"{folder}/broken.toml" in text


def test_every_broken_source_file_is_named(folder):
    add(folder, "one", "not toml")
    add(folder, "two", 'connector = "clay tablets"\n')
    (text,) = bag().import_errors.values()
    assert f"{folder}/one.toml: not valid TOML" in text
    assert f"{folder}/two.toml: 3 mistakes:" in text
    assert "\n- top level: unknown connector 'clay tablets'" in text
    assert "\n- [kafka]: 'topic_prefix' is missing" in text


@pytest.mark.parametrize("key", ["land", "compact", "maintain"])
def test_a_schedule_that_is_no_cron_expression_is_refused_with_its_file(folder, key):
    text = (folder / "shop.toml").read_text()
    add(folder, "odd", f'{text}[schedule]\n{key} = "now and then"\n')
    found = bag()
    assert sorted(found.dags) == DAGS_OF_SHOP
    (error,) = found.import_errors.values()
    assert f"{folder}/odd.toml: [schedule]: '{key}' must be a cron expression" in error
    assert "not 'now and then'" in error


@pytest.mark.parametrize("never", ["0 0 30 2 *", "0 0 31 11 *"])
def test_a_schedule_that_never_occurs_is_refused(folder, never):
    add(folder, "odd", f'{(folder / "shop.toml").read_text()}[schedule]\nland = "{never}"\n')
    found = bag()
    assert sorted(found.dags) == DAGS_OF_SHOP
    (error,) = found.import_errors.values()
    assert f"{folder}/odd.toml: [schedule]: 'land' never occurs: '{never}'" in error


@pytest.mark.parametrize(
    ("name", "text", "said"),
    [
        ("n" * 101, None, "must be of 100 letters at most"),
        ("deep", f"x = {'[' * 5_000}{']' * 5_000}", "deep.toml: not valid TOML: nested too deeply"),
    ],
)
def test_a_source_file_that_breaks_what_reads_it_disturbs_no_other(folder, name, text, said):
    add(folder, name, text or (folder / "shop.toml").read_text())
    found = bag()
    assert sorted(found.dags) == DAGS_OF_SHOP
    (error,) = found.import_errors.values()
    assert said in error


def test_what_nobody_foresaw_of_a_source_file_is_a_line_of_its_own(folder, monkeypatch):
    add(folder, "odd", (folder / "shop.toml").read_text())
    real = source_file.load

    def load_badly(path):
        return {}["column"] if path.stem == "odd" else real(path)

    monkeypatch.setattr(source_file, "load", load_badly)
    loaded = load(folder)
    assert [source.name for source in loaded.sources] == ["shop"]
    assert loaded.refused == (f"{folder}/odd.toml: KeyError: 'column'",)


def test_a_folder_that_is_not_there_is_an_import_error(monkeypatch, tmp_path):
    monkeypatch.setenv("STRANDLINE_SOURCES", str(tmp_path / "nowhere"))
    (text,) = bag().import_errors.values()
    assert "no such folder" in text
    assert "STRANDLINE_SOURCES" in text


def test_of_the_dags_of_a_source_file_landing_and_compaction_come_first(source_path):
    ids = [dag.dag_id for dag in source_dags(source_path)]
    assert ids == ["land__shop", "compact__shop", *TRIGGERED]


@pytest.mark.usefixtures("folder")
def test_every_dag_says_in_a_line_and_on_its_page_what_it_does():
    dags = bag().dags
    assert len({dag.description for dag in dags.values()}) == len(DAGS_OF_SHOP)
    for dag_id, dag in dags.items():
        assert dag.description, dag_id
        assert len(dag.doc_md) > len(dag.description), dag_id
    assert "`shop`: connector `postgresql`" in dags["compact__shop"].doc_md


@pytest.mark.usefixtures("folder")
def test_every_field_of_a_form_has_a_description_and_a_default_that_is_right():
    dags = bag().dags
    for dag_id in TRIGGERED:
        for name in dags[dag_id].params:
            param = dags[dag_id].params.get_param(name)
            assert param.description, f"{dag_id}: {name}"
            param.resolve()


@pytest.mark.usefixtures("folder")
def test_a_form_demands_the_table_alone_and_lets_every_other_text_be_left_empty():
    """Airflow's form cannot be sent while a text is empty whose type has no null."""
    dags = bag().dags
    fields = ((dag_id, name) for dag_id in TRIGGERED for name in dags[dag_id].params)
    demanded = {
        (dag_id, name)
        for dag_id, name in fields
        if dags[dag_id].params.get_param(name).schema["type"] == "string"
    }
    assert demanded == {("erase__shop", "table"), ("reconcile__shop", "table")}


@pytest.mark.usefixtures("folder")
def test_every_form_is_a_dry_run_until_somebody_unticks_it():
    dags = bag().dags
    assert {dags[dag_id].params["dry_run"] for dag_id in TRIGGERED} == {True}


def test_an_erasure_and_a_replay_wait_for_an_approval_where_the_source_file_asks_for_it(
    source_path,
):
    before = {dag.dag_id: dag.task_ids for dag in source_dags(source_path)}
    source_path.write_text(f"{source_path.read_text()}[approval]\nerase = true\nswap = true\n")
    dags = {dag.dag_id: dag for dag in source_dags(source_path)}
    asking = {dag_id for dag_id, dag in dags.items() if dag.task_ids != before[dag_id]}
    assert asking == {"erase__shop", "replay__shop"}
    for dag_id in asking:
        assert dags[dag_id].get_task("plan").upstream_task_ids == {"preview", "approve"}
        assert dags[dag_id].get_task("approve").response_timeout == timedelta(days=1)


@pytest.mark.usefixtures("folder")
def test_a_backfill_ends_with_what_says_whether_it_failed():
    assert [task.task_id for task in bag().dags["backfill__shop"].leaves] == ["report"]


@pytest.mark.usefixtures("folder")
def test_what_changes_histories_waits_in_the_pool_of_its_source():
    for dag_id in (
        "maintain__shop",
        "replay__shop",
        "requeue__shop",
        "erase__shop",
        "reconcile__shop",
        "release__shop",
    ):
        (spark,) = [task for task in bag().dags[dag_id].tasks if task.pool != "default_pool"]
        assert spark.pool == "strandline__shop"


def test_a_source_file_that_is_not_right_says_so(source_path):
    source_path.write_text("")
    with pytest.raises(SpecError, match="'connector' is missing"):
        source_dags(source_path)


def test_compaction_waits_in_the_pool_of_its_source(source_path):
    compact = source_dags(source_path)[1].get_task("compact")
    assert compact.pool == pool_name(source_file.load(source_path)) == "strandline__shop"


def test_only_what_a_change_waits_for_has_a_deadline(source_path):
    dags = source_dags(source_path)
    assert [dag.dag_id for dag in dags if dag.deadline] == ["land__shop", "compact__shop"]


def test_a_terminal_error_is_not_retried_and_a_transient_one_is(source_path):
    policy = source_dags(source_path)[0].get_task("plan").retry_policy
    verdicts = {
        kind: policy.evaluate(kind("why"), try_number=1, max_tries=2).action
        for kind in (Terminal, SpecError, Transient, OSError)
    }
    assert verdicts == {
        Terminal: RetryAction.FAIL,
        SpecError: RetryAction.FAIL,
        Transient: RetryAction.DEFAULT,
        OSError: RetryAction.DEFAULT,
    }


def test_the_plugin_is_the_only_file_that_airflow_registers():
    from airflow import plugins_manager  # noqa: PLC0415 - reads the plugins folder when asked

    plugins, errors = plugins_manager._get_plugins()  # noqa: SLF001 - there is no public way
    assert errors == {}
    assert "strandline" in [plugin.name for plugin in plugins]
    assert "ledger" not in sys.modules
