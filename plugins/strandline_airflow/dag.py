"""A source file becomes two DAGs: `land__SOURCE` and `compact__SOURCE`. All share one watch.

Parsing builds the graph and nothing else. Kafka, Delta and Arrow are imported by the tasks that use
them, so that a DAG processor stays light; pyspark is imported by nobody here.
"""
# ruff: noqa: PLC0415 - see above

import os
from collections.abc import Iterable
from dataclasses import asdict, dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from airflow.configuration import conf
from airflow.sdk import (
    DAG,
    AssetOrTimeSchedule,
    CronTriggerTimetable,
    ExceptionRetryPolicy,
    RetryAction,
    RetryRule,
    get_current_context,
    task,
)
from airflow.sdk.exceptions import AirflowException, AirflowSkipException

from strandline import source as source_file
from strandline.cut import is_news
from strandline.errors import SpecError, Terminal
from strandline.receipt import Counts, TableReceipt
from strandline.segment import Segment
from strandline.source import Source
from strandline_airflow import assets, deadlines
from strandline_airflow.operators import StrandlineSparkOperator, home

SOURCES_VARIABLE = "STRANDLINE_SOURCES"

_DEFAULT_ARGS = {
    "retries": 2,
    "retry_delay": timedelta(minutes=1),
    "retry_policy": ExceptionRetryPolicy(
        [RetryRule(Terminal, RetryAction.FAIL, reason="retrying cannot help: see the error's text")]
    ),
}
_FINDINGS = "findings"


@dataclass(frozen=True, slots=True)
class Loaded:
    """What a folder of source files gave; `refused` has a line for each file that is not right."""

    sources: tuple[Source, ...]
    dags: tuple[DAG, ...]
    refused: tuple[str, ...]


def folder_of_sources() -> Path:
    """STRANDLINE_SOURCES, or `sources` in the checkout's `dags`, else in Airflow's DAG folder."""
    given = os.environ.get(SOURCES_VARIABLE)
    if given:
        return Path(given)
    checkout = home()
    dags = Path(conf.get("core", "dags_folder")) if checkout is None else checkout / "dags"
    return dags / "sources"


def load(folder: Path) -> Loaded:
    """The DAGs of every source file in the folder; one that is not right disturbs no other."""
    sources: list[Source] = []
    dags: list[DAG] = []
    refused: list[str] = []
    if not folder.is_dir():
        refused.append(f"{folder}: no such folder of sources; set {SOURCES_VARIABLE}")
    for path in sorted(folder.glob("*.toml")):
        try:
            source = source_file.load(path)
            dags.extend(_dags(source, path))
        except SpecError as error:
            refused.append(str(error))
        else:
            sources.append(source)
    return Loaded(tuple(sources), tuple(dags), tuple(refused))


def source_dags(path: Path) -> tuple[DAG, DAG]:
    """The landing and the compaction DAG of a source file; `SpecError` where it is not right."""
    return _dags(source_file.load(path), path)


def watch_dag(sources: Iterable[Source]) -> DAG:
    """`watch__freshness`: every few minutes a look at each source, told by its notifiers."""
    with DAG(
        dag_id="watch__freshness",
        schedule=_cron("*/5 * * * *"),
        start_date=datetime(2024, 1, 1, tzinfo=UTC),
        catchup=False,
        max_active_runs=1,
        # One retry: five minutes later the next run looks anyway, and sees more.
        default_args={**_DEFAULT_ARGS, "retries": 1, "retry_delay": timedelta(seconds=20)},
        tags=["strandline"],
        auto_register=False,
    ) as dag:
        for source in sources:
            _look(source)
    return dag


def _look(source: Source) -> None:
    @task(task_id=source.name)
    def look() -> int:
        from strandline_airflow import watching

        alerts = watching.Watcher(source).look(get_current_context()["dag_run"].run_after)
        return len(alerts)

    look()


def pool_name(source: Source) -> str:
    """The pool of one slot that everything which writes a source's histories shares."""
    return f"strandline__{source.name}"


def _dags(source: Source, path: Path) -> tuple[DAG, DAG]:
    for key, expression in (("land", source.land_schedule), ("compact", source.compact_schedule)):
        _check_cron(expression, f"{path}: [schedule]: '{key}'")
    return _land_dag(source, path), _compact_dag(source, path)


def _check_cron(expression: str | None, where: str) -> None:
    # Here, because Airflow would refuse the whole DAG file, and looks only at some schedules.
    timetable = _cron(expression)
    if timetable is None:
        return
    try:
        timetable.validate()
    except AirflowException as error:
        raise SpecError(
            f"{where} must be a cron expression such as '*/5 * * * *', not {expression!r}: {error}"
        ) from error


def _land_dag(source: Source, path: Path) -> DAG:
    with _dag(source, path, "land", _cron(source.land_schedule)) as dag:
        groups = _plan_landing(source)
        landed = _land(source).expand(group=groups)
        collected = _collect(source, landed)
        [landed, collected] >> _report_findings()
    return dag


def _compact_dag(source: Source, path: Path) -> DAG:
    cron = _cron(source.compact_schedule)
    wake = assets.landing(source.name)
    schedule = [wake] if cron is None else AssetOrTimeSchedule(timetable=cron, assets=[wake])
    with _dag(source, path, "compact", schedule) as dag:
        manifest = _plan_cut(source)
        compact = StrandlineSparkOperator(
            task_id="compact",
            source=source,
            app="compact.py",
            application_args=["--manifest", "{{ ti.xcom_pull(task_ids='plan') }}"],
            pool=pool_name(source),
        )
        published = _publish(source, manifest)
        manifest >> compact >> published
        _report_failures(published)
    return dag


class _Pipeline(DAG):
    """A DAG with a deadline that `airflow dags test` can run all the same.

    It stumbles over deadlines once a run has succeeded (apache/airflow#73428), and has none to
    keep: no scheduler looks.
    """

    def test(self, *args: Any, **kwargs: Any) -> Any:
        """Runs the DAG in this process, without its deadline."""
        deadline, self.deadline = self.deadline, []
        try:
            return super().test(*args, **kwargs)
        finally:
            self.deadline = deadline


def _dag(source: Source, path: Path, what: str, schedule: Any) -> DAG:
    dag_id = f"{what}__{source.name}"
    return _Pipeline(
        dag_id=dag_id,
        schedule=schedule,
        start_date=datetime(2024, 1, 1, tzinfo=UTC),
        catchup=False,
        max_active_runs=1,
        default_args=_DEFAULT_ARGS,
        deadline=deadlines.of(source, path, dag_id),
        tags=["strandline", source.name],
        auto_register=False,  # the DAG file registers what is right as a whole
    )


def _cron(expression: str | None) -> CronTriggerTimetable | None:
    return None if expression is None else CronTriggerTimetable(expression, timezone="UTC")


def _plan_landing(source: Source) -> Any:
    @task(task_id="plan")
    def plan() -> list[list[dict[str, Any]]]:
        from strandline_airflow import land_run

        context = get_current_context()
        planned = land_run.plan(source, context["dag_run"].run_after)
        context["ti"].xcom_push(_FINDINGS, list(planned.findings))
        return [[asdict(segment) for segment in group] for group in planned.groups]

    return plan()


def _land(source: Source) -> Any:
    @task(task_id="land", map_index_template="{{ segment_label }}")
    def land(group: list[dict[str, Any]]) -> list[dict[str, Any]]:
        from strandline_airflow import land_run

        segments = [Segment(**fields) for fields in group]
        context = get_current_context()
        context["segment_label"] = land_run.label(segments)
        return land_run.land(source, segments, context["dag_run"].run_after)

    return land


def _collect(source: Source, landed: Any) -> Any:
    alias = assets.landed_alias(source.name)

    # Also after a failed `land`: what did land is there, and compaction is to know.
    @task(task_id="collect", trigger_rule="all_done", outlets=[alias])
    def collect(landed: Any) -> None:
        from strandline_airflow import land_run

        event = get_current_context()["outlet_events"][alias]
        tasks = landed[:] if landed else []  # a slice: iterating logs an error at its end
        arrivals = land_run.arrivals(one for progress in tasks for one in progress)
        for arrival in arrivals:
            if not source.is_control(arrival.topic):
                extra = {"rows": arrival.rows, "next_offsets": arrival.next_offsets}
                event.add(assets.topic(source.name, arrival.topic), extra=extra)
        news = [arrival for arrival in arrivals if is_news(arrival.topic)]
        if news:
            rows = sum(arrival.rows for arrival in news)
            event.add(assets.landing(source.name), extra={"rows": rows, "topics": len(news)})

    return collect(landed)


def _report_findings() -> Any:
    # Last and apart: what a failed task has put out does not count, and everything landed shall.
    @task(task_id="report", trigger_rule="none_failed", retries=0)
    def report() -> None:
        findings = get_current_context()["ti"].xcom_pull(task_ids="plan", key=_FINDINGS)
        if findings:
            raise Terminal("; ".join(findings))

    return report()


def _plan_cut(source: Source) -> Any:
    @task(task_id="plan")
    def plan() -> str:
        from strandline_airflow import compact_run

        manifest = compact_run.plan(source, get_current_context()["dag_run"].run_after)
        if manifest is None:
            raise AirflowSkipException(f"nothing new has landed for {source.name}")
        return manifest

    return plan()


def _publish(source: Source, manifest: Any) -> Any:
    alias = assets.published_alias(source.name)

    @task(task_id="publish", outlets=[alias])
    def publish(manifest: str) -> list[dict[str, Any]]:
        from strandline_airflow import compact_run

        outcome = compact_run.publish(manifest)
        event = get_current_context()["outlet_events"][alias]
        for row in outcome.changed:
            extra = {
                "rows": row.counts.rows_written,
                "cut": row.number,
                "history_version": row.history_version,
            }
            event.add(assets.table(source.name, str(row.table)), extra=extra)
        return [asdict(failed) for failed in outcome.failed]

    return publish(manifest)


def _report_failures(failed: Any) -> Any:
    @task(task_id="report", retries=0)
    def report(failed: list[dict[str, Any]]) -> None:
        from strandline_airflow import compact_run

        compact_run.refuse(
            TableReceipt(**{**fields, "counts": Counts(**fields["counts"])}) for fields in failed
        )

    return report(failed)
