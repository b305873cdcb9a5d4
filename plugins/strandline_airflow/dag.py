"""A source file becomes its DAGs: landing, compaction, and those that people trigger.

All sources share one watch.

Parsing builds the graph and nothing else. Kafka, Delta and Arrow are imported by the tasks that use
them, so that a DAG processor stays light; pyspark is imported by nobody here.
"""
# ruff: noqa: PLC0415 - see above

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from airflow.sdk import (
    DAG,
    AssetOrTimeSchedule,
    DagRunState,
    TaskInstanceState,
    get_current_context,
    task,
)
from airflow.sdk.exceptions import AirflowSkipException

from strandline.errors import Terminal
from strandline.runs.standing import Ended
from strandline.sources import source as source_file
from strandline.sources.source import Source
from strandline_airflow.folder import SOURCES_VARIABLE
from strandline_airflow.forms import (
    backfill,
    epoch,
    erase,
    maintain,
    reconcile,
    release,
    replay,
    requeue,
)
from strandline_airflow.pipelines import assets, descriptions, schedules, steps
from strandline_airflow.pipelines.names import REFUSED, WATCH
from strandline_airflow.pipelines.pipeline import AWAITED, DEFAULT_ARGS, pipeline, worked_off
from strandline_airflow.pipelines.schedules import cron

_FINDINGS = "findings"
_TRIGGERED = (
    maintain.dag,
    replay.dag,
    requeue.dag,
    erase.dag,
    epoch.dag,
    backfill.dag,
    reconcile.dag,
    release.dag,
)


@dataclass(frozen=True, slots=True)
class Loaded:
    """What a folder of source files gave; `refused` has a line for each file that is not right."""

    sources: tuple[Source, ...]
    dags: tuple[DAG, ...]
    refused: tuple[str, ...]


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
        except Exception as error:  # noqa: BLE001 - whatever it is, it is this file's alone
            refused.append(source_file.refusal(path, error))
        else:
            sources.append(source)
    return Loaded(tuple(sources), tuple(dags), tuple(refused))


def source_dags(path: Path) -> tuple[DAG, ...]:
    """The DAGs of a source file, landing and compaction first; `SpecError` if it is not right."""
    return _dags(source_file.load(path), path)


def watch_dag(sources: Sequence[Source], refused: Sequence[str] = ()) -> DAG:
    """`watch__freshness`: every few minutes a look at each source, told by its notifiers.

    `refused` has a line for each source file that is not right, which is told as well.
    """
    with DAG(
        dag_id=WATCH,
        description=descriptions.WATCH.line,
        doc_md=descriptions.WATCH.text,
        schedule=cron("*/5 * * * *"),
        start_date=datetime(2024, 1, 1, tzinfo=UTC),
        catchup=False,
        max_active_runs=1,
        # One retry: five minutes later the next run looks anyway, and sees more.
        default_args={**DEFAULT_ARGS, "retries": 1, "retry_delay": timedelta(seconds=20)},
        tags=["strandline"],
        auto_register=False,
    ) as dag:
        for source in sources:
            _look(source)
        _tell_of_refused(sources, refused)
    return dag


def _tell_of_refused(sources: Sequence[Source], refused: Sequence[str]) -> None:
    @task(task_id=REFUSED)
    def tell() -> None:
        from strandline_airflow.monitoring import refusals

        context = get_current_context()
        instant, ti = context["dag_run"].run_after, context["ti"]
        refusals.tell(refused, sources, instant, failed_before=_failed_before(ti))

    tell()


def _failed_before(ti: Any) -> bool:
    before = ti.get_previous_ti()
    return before is not None and before.state == TaskInstanceState.FAILED


def _look(source: Source) -> None:
    @task(task_id=source.name)
    def look() -> int:
        from strandline_airflow.monitoring import watching

        context = get_current_context()
        ti = context["ti"]
        alerts = watching.Watcher(source).look(
            context["dag_run"].run_after,
            ended={what: _ended(ti, f"{what}__{source.name}") for what in AWAITED},
            failed_before=_failed_before(ti),
            last_try=ti.try_number > ti.max_tries,
        )
        return len(alerts)

    look()


def _ended(ti: Any, dag_id: str) -> Ended:
    """Airflow tells tasks of other DAGs' runs how many there are, and not which came last."""
    failed, succeeded = (
        ti.get_dr_count(dag_id=dag_id, states=[state])
        for state in (DagRunState.FAILED, DagRunState.SUCCESS)
    )
    return Ended(failed, succeeded)


def _dags(source: Source, path: Path) -> tuple[DAG, ...]:
    schedules.check(source, path)
    triggered = (make(source, path) for make in _TRIGGERED)
    return _land_dag(source, path), _compact_dag(source, path), *triggered


def _land_dag(source: Source, path: Path) -> DAG:
    with pipeline(source, path, "land", cron(source.land_schedule)) as dag:
        groups = _plan_landing(source)
        landed = steps.land(source).expand(group=groups)
        collected = steps.collect(source, groups, landed)
        [landed, collected] >> _report_findings()
    return dag


def _compact_dag(source: Source, path: Path) -> DAG:
    times = cron(source.compact_schedule)
    wake = assets.landing(source.name)
    schedule = [wake] if times is None else AssetOrTimeSchedule(timetable=times, assets=[wake])
    with pipeline(source, path, "compact", schedule) as dag:
        worked_off(source, _plan_cut(source), "compact")
    return dag


def _plan_landing(source: Source) -> Any:
    @task(task_id="plan")
    def plan() -> list[list[dict[str, Any]]]:
        from strandline_airflow.landing import land_run

        context = get_current_context()
        planned = land_run.plan(source, context["dag_run"].run_after)
        context["ti"].xcom_push(_FINDINGS, list(planned.findings))
        return [[asdict(segment) for segment in group] for group in planned.groups]

    return plan()


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
        from strandline_airflow.runs import compact_run

        manifest = compact_run.plan(source, get_current_context()["dag_run"].run_after)
        if manifest is None:
            raise AirflowSkipException(f"nothing new has landed for {source.name}")
        return manifest

    return plan()
