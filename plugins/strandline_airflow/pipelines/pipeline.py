"""What every DAG of a source is made with: its retries, its pool, its end.

The end is the same for all that changes histories: Spark works a manifest off, the run is
published, and what could not be applied fails the DAG last, when the rest is safe.
"""
# ruff: noqa: PLC0415 - Delta and Arrow are imported by the tasks that use them

from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from airflow.sdk import (
    DAG,
    ExceptionRetryPolicy,
    Param,
    RetryAction,
    RetryRule,
    get_current_context,
    task,
)
from airflow.sdk.exceptions import AirflowSkipException

from strandline.errors import Terminal
from strandline.runs.manifest import Work
from strandline.runs.receipt import Counts, TableReceipt
from strandline.sources.approval import Approval
from strandline.sources.source import Source
from strandline_airflow.monitoring import deadlines
from strandline_airflow.pipelines import assets, pickers
from strandline_airflow.pipelines.descriptions import DESCRIPTIONS
from strandline_airflow.pipelines.names import pool_name
from strandline_airflow.runs import orders
from strandline_airflow.submission.submission import submission

DEFAULT_ARGS = {
    "show_return_value_in_logs": False,  # lists of segments and the like, for tasks to read
    "retries": 2,
    "retry_delay": timedelta(minutes=1),
    "retry_policy": ExceptionRetryPolicy(
        [RetryRule(Terminal, RetryAction.FAIL, reason="retrying cannot help: see the error's text")]
    ),
}

AWAITED = ("land", "compact")  # what a change waits for; the others take what time they need


class _Pipeline(DAG):
    """A DAG that `airflow dags test` can run although it has a deadline.

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


def pipeline(
    source: Source, path: Path, what: str, schedule: Any, params: dict[str, Param] | None = None
) -> DAG:
    """The DAG `WHAT__SOURCE`, still without tasks; `params` are the form that triggers it."""
    dag_id = f"{what}__{source.name}"
    description = DESCRIPTIONS[what]
    return _Pipeline(
        dag_id=dag_id,
        description=description.line,
        doc_md=description.of(source),
        schedule=schedule,
        start_date=datetime(2024, 1, 1, tzinfo=UTC),
        catchup=False,
        max_active_runs=1,
        default_args=DEFAULT_ARGS,
        deadline=deadlines.of(source, path, dag_id) if what in AWAITED else None,
        tags=["strandline", source.name],
        auto_register=False,  # the DAG file registers what is right as a whole
        params=params and pickers.offering(source, params),
    )


@dataclass(frozen=True, slots=True)
class Form:
    """What somebody may order: the fields to fill in, and what makes an order of them.

    `order` gets the source, the fields and the time of the run; it changes nothing. `scheduled` has
    the fields whose default is another one where nobody is there to fill them in. `needs_spark` is
    False where there is nothing to be done but to publish. `approved`: whether a source wants a
    person to approve what it `acts` on, which the fields say.
    """

    what: str
    params: dict[str, Param]
    order: Callable[[Source, dict[str, Any], datetime], orders.Order]
    scheduled: Mapping[str, Any] = field(default_factory=dict)
    needs_spark: bool = True
    acts: Callable[[Mapping[str, Any]], bool] = lambda _params: True
    approved: Callable[[Approval], bool] = lambda _approval: False


def ordered(source: Source, path: Path, form: Form, schedule: Any = None) -> DAG:
    """The DAG `WHAT__SOURCE` of a form: its plan, Spark, and a publication."""
    with pipeline(source, path, form.what, schedule, form.params) as dag:
        manifest = _plan(source, form)
        worked_off(source, manifest, form.what, needs_spark=form.needs_spark)
        if form.approved(source.approval):
            from strandline_airflow.pipelines import approval

            approval.asked_for(source, form, manifest)
    return dag


def _plan(source: Source, form: Form) -> Any:
    # Another run of the source may be under way: it is waited for.
    # Of an order that has to be approved, what shows it or what asks may be passed over, not both.
    @task(task_id="plan", retries=10, trigger_rule="none_failed_min_one_success")
    def plan() -> str:
        from strandline_airflow.runs import order_run

        with orders.filled_in(form.params, form.scheduled) as (params, run_after):
            order = form.order(source, params, run_after)
            if form.approved(source.approval):
                from strandline_airflow.pipelines import approval

                approval.check(order)
            manifest = order_run.plan(source, order, run_after, dry=params["dry_run"])
        if manifest is None:
            raise AirflowSkipException("dry run: the plan is in this log, nothing was changed")
        return manifest

    return plan()


def worked_off(source: Source, manifest: Any, task_id: str, *, needs_spark: bool = True) -> None:
    """The rest of a DAG whose task `plan` gave the path of a manifest."""
    work = (
        _alone(source, manifest, task_id)
        if source.alone or not needs_spark
        else submission(source, task_id, pool_name(source))
    )
    published = _publish(source, manifest)
    manifest >> work >> published
    _report_failures(source, published)
    if source.catalog is not None:
        published >> _register(source)


def _alone(source: Source, manifest: Any, task_id: str) -> Any:
    @task(task_id=task_id, pool=pool_name(source))
    def work_off(manifest: str) -> None:
        from strandline_airflow.runs import alone_run

        alone_run.work_off(manifest)

    return work_off(manifest)


def _publish(source: Source, manifest: Any) -> Any:
    alias, landed = assets.published_alias(source.name), assets.landed_alias(source.name)

    @task(task_id="publish", outlets=[alias, landed], multiple_outputs=False)
    def publish(manifest: str) -> dict[str, Any]:
        from strandline_airflow.monitoring import lineage
        from strandline_airflow.runs import compact_run

        outcome = compact_run.publish(manifest)
        lineage.tell(source, (row for row, _ in outcome.changed))
        events = get_current_context()["outlet_events"]
        for row, lag in outcome.changed:
            extra: dict[str, Any] = {
                "rows": row.counts.rows_written,
                "cut": row.number,
                "lag": lag,
                "history_version": row.history_version,
            }
            events[alias].add(assets.table(source.name, str(row.table)), extra=extra)
        # What told of it has woken the compaction that found this run open, and is used up.
        if outcome.waiting:
            assets.wake(events[landed], source.name, outcome.waiting)
        failed = [asdict(each) for each in outcome.failed]
        return {"work": str(outcome.work), "failed": failed, "withheld": list(outcome.withheld)}

    return publish(manifest)


def _register(source: Source) -> Any:
    # Also in a run with nothing new: what the catalog lacks since it was away is made up for. Apart
    # from `publish`, which neither fails nor is done again for it. In the pool, so that of two
    # registrations the one with the newer publication comes last.
    @task(task_id="register", trigger_rule="none_failed", pool=pool_name(source))
    def register() -> None:
        from strandline_airflow.metastore import registration

        registration.register(source)

    return register()


def _report_failures(source: Source, published: Any) -> Any:
    @task(task_id="report", retries=0)
    def report(published: dict[str, Any]) -> None:
        from strandline_airflow.runs import compact_run

        failed = (
            TableReceipt(**{**fields, "counts": Counts(**fields["counts"])})
            for fields in published["failed"]
        )
        # By what was published: a compaction finishes an order that it finds open.
        work, withheld = Work(published["work"]), published["withheld"]
        compact_run.refuse(source.name, work, failed, withheld)

    return report(published)
