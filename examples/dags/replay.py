"""Sends a wave of a recorded database to its broker, as its Debezium connector once did.

Only `make up` serves this DAG. Sending a wave twice is allowed: the histories stay the same, and
the records are counted as duplicates.
"""
# ruff: noqa: PLC0415 - parsing this file imports no Kafka client

from datetime import UTC, datetime

from airflow.sdk import BaseHook, Param, dag, task

from examples.captures import CAPTURES, WAVES, named

_SOURCES = [capture.source for capture in CAPTURES]


@dag(
    dag_id="example__replay",
    schedule=None,
    start_date=datetime(2024, 1, 1, tzinfo=UTC),
    max_active_runs=1,
    tags=["example"],
    params={
        "source": Param(
            _SOURCES[0],
            type="string",
            enum=_SOURCES,
            title="Recorded database",
            description="Whose broker gets the records",
        ),
        "wave": Param(
            WAVES[-1],
            type="integer",
            enum=list(WAVES),
            values_display={WAVES[0]: "1, which make up has sent", WAVES[1]: "2, the rest"},
            title="Wave",
            description="Trigger land__SOURCE afterwards, or wait until it looks again",
        ),
    },
    doc_md=__doc__,
)
def replay_wave() -> None:
    """One task: the records of the chosen wave go to the broker of the source's connection."""

    @task(task_id="send", retries=0)
    def send(params: dict[str, object]) -> int:
        from examples.replay import replay

        capture = named(str(params["source"]))
        broker = BaseHook.get_connection(capture.connection).extra_dejson["bootstrap.servers"]
        return replay(broker, capture.wave(int(str(params["wave"]))))

    send()


replay_wave()
