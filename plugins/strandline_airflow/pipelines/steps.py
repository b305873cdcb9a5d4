"""The tasks of landing, for every DAG that lands."""
# ruff: noqa: PLC0415 - Kafka, Delta and Arrow are imported by the tasks that use them

from typing import Any

from airflow.sdk import get_current_context, task

from strandline.runs.cut import is_news
from strandline.runs.segment import Segment
from strandline.sources.source import Source
from strandline_airflow.pipelines import assets


def land(source: Source, connection: str = "") -> Any:
    """The mapped task that lands groups of segments, by default from the source's own cluster."""

    @task(task_id="land", map_index_template="{{ segment_label }}")
    def land(group: list[dict[str, Any]], connection: str) -> list[dict[str, Any]]:
        from strandline_airflow.landing import land_run

        segments = [Segment(**fields) for fields in group]
        context: Any = get_current_context()  # declared without keys of our own
        context["segment_label"] = land_run.label(segments)
        return land_run.land(source, segments, context["dag_run"].run_after, connection)

    return land.partial(connection=connection)


def collect(source: Source, planned: Any, landed: Any) -> Any:
    """The task that tells Airflow what has landed of the groups of segments that were planned."""
    alias = assets.landed_alias(source.name)

    # Also after a failed `land`: what did land is there, and compaction is to know.
    @task(task_id="collect", trigger_rule="all_done", outlets=[alias])
    def collect(planned: list[list[dict[str, Any]]] | None, landed: Any) -> None:
        from strandline_airflow.landing import land_run

        event = get_current_context()["outlet_events"][alias]
        segments = [Segment(**fields) for group in planned or () for fields in group]
        tasks = landed[:] if landed else []  # a slice: iterating logs an error at its end
        arrivals = land_run.arrivals(
            source, segments, [one for progress in tasks for one in progress]
        )
        for arrival in arrivals:
            if not source.is_control(arrival.topic):
                extra: dict[str, Any] = {"rows": arrival.rows, "next_offsets": arrival.next_offsets}
                event.add(assets.topic(source.name, arrival.topic), extra=extra)
        news = {each.topic: each.rows for each in arrivals if is_news(each.topic)}
        if news:
            assets.wake(event, source.name, news)

    return collect(planned, landed)
