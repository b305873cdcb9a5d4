"""A recorded database through the real line: Kafka, the DAGs of Airflow, Spark, Delta.

The records come in two waves, and each wave is landed and compacted by the DAGs as they are. The
`compact` tasks run `spark_apps/compact.py`; everything before them does without Spark.
"""

import json
from dataclasses import dataclass

import pyarrow as pa
import pytest
from airflow.models.asset import AssetEvent
from airflow.utils.session import create_session
from deltalake import DeltaTable, QueryBuilder
from stages import airflow_stage
from strandline_airflow.dag import source_dags
from strandline_airflow.runs.publications import Publications
from strandline_airflow.runs.published import Published

from examples import truth
from examples.embedded_kafka import EmbeddedKafka
from strandline.cells import rendering
from strandline.formats import capture
from strandline.runs.lake import SourceLake

SOURCE = "postgres_inventory"
EXAMPLE = airflow_stage.PROJECT / "examples" / "postgres-inventory"
FIRST_WAVE = 400


@dataclass
class Story:
    """What the runs left behind: the publications after each wave, and the last lake."""

    lake: SourceLake
    waves: list[tuple[Published, ...]]
    states: list[dict[str, str]]

    def history(self, row):
        """A table as the last publication names it, in the shape that `strandline history` has."""
        table = DeltaTable(self.lake.history(row.table), version=row.history_version)
        found = QueryBuilder().register("history", table).execute("SELECT * FROM history")
        return [
            json.loads(rendering.line(row.topic, cells))
            for cells in pa.table(found.read_all()).to_pylist()
        ]


@pytest.fixture(scope="module")
def story(tmp_path_factory):
    airflow_stage.initialise_database()
    lake = SourceLake(str(tmp_path_factory.mktemp("lake")), SOURCE)
    records = list(capture.read([EXAMPLE / "capture.jsonl"]))
    with EmbeddedKafka() as broker, pytest.MonkeyPatch.context() as environment:
        environment.setenv("STRANDLINE_LAKE", lake.root)
        connection = airflow_stage.kafka_connection(broker.bootstrap)
        environment.setenv(f"AIRFLOW_CONN_KAFKA_{SOURCE.upper()}", connection)
        broker.create_topics_of(records)
        story = Story(lake, [], [])
        for wave in (records[:FIRST_WAVE], records[FIRST_WAVE:], []):
            broker.replay(wave)
            story.states.append({**_run(0), **_run(1)})
            story.waves.append(Publications(lake).last())
        yield story


def _run(which):
    """Runs the landing (0) or the compaction DAG (1); the state of each task."""
    path = airflow_stage.PROJECT / "dags" / "sources" / f"{SOURCE}.toml"
    dag = source_dags(path)[which]
    for task in dag.tasks:
        task.retries = 0
    run = dag.test()
    return {f"{dag.dag_id}.{task.task_id}": str(task.state) for task in run.get_task_instances()}


def tables(rows):
    return [row for row in rows if row.table is not None]


def lines(name):
    text = (EXAMPLE / name).read_text(encoding="utf-8")
    return [json.loads(line) for line in text.splitlines()]


def test_every_task_of_a_wave_with_records_succeeds(story):
    assert {state for states in story.states[:2] for state in states.values()} == {"success"}


def test_without_new_records_neither_landing_nor_spark_starts(story):
    skipped = {task for task, state in story.states[2].items() if state == "skipped"}
    assert {f"land__{SOURCE}.land", f"compact__{SOURCE}.compact"} <= skipped
    assert story.waves[2] == story.waves[1]


def test_each_wave_is_one_publication_of_all_tables(story):
    assert [{row.number for row in rows} for rows in story.waves[:2]] == [{1}, {2}]
    assert [row.error for rows in story.waves for row in rows if row.error] == []


def test_no_record_vanishes(story):
    """Law 6, over both waves: what Kafka had is what the tables and control topics account for."""
    assert all(row.counts.conserved for rows in story.waves for row in rows)
    landed = DeltaTable(story.lake.landing).to_pyarrow_table(columns=["topic"]).num_rows
    applied = [
        offset
        for row in story.waves[1]
        for offsets in row.applied.values()
        for offset in offsets.values()
    ]
    assert landed == sum(applied) == len(lines("capture.jsonl"))


def test_the_histories_are_what_the_database_itself_recorded(story):
    rows = [cells for row in tables(story.waves[1]) for cells in story.history(row)]
    assert truth.compare(rows, lines("truth.jsonl")).disagreements == ()


def test_the_current_rows_are_the_tables_at_the_end(story):
    final = lines("final.jsonl")
    counts = {row.topic: row.counts.current_rows for row in tables(story.waves[1])}
    assert counts == {topic: sum(one["table"] == topic for one in final) for topic in counts}
    assert sum(counts.values()) == len(final)


def test_every_table_that_changed_told_its_version(story):
    with create_session() as session:
        events = session.query(AssetEvent).filter_by(source_dag_id=f"compact__{SOURCE}").all()
        names = ("history_version", "cut", "rows", "lag")
        told = {(event.asset.name, *(event.extra[name] for name in names)) for event in events}
    assert told == {
        (
            f"strandline://{SOURCE}/tables/{row.table}",
            row.history_version,
            row.number,
            row.counts.rows_written,
            0,
        )
        for rows in story.waves[:2]
        for row in tables(rows)
        if row.changed
    }
