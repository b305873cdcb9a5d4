"""The approval of an order: what it comes to is shown to a person, who says whether it is done.

Imported by DAGs that ask for one alone: Airflow's operator brings much along.
"""
# ruff: noqa: PLC0415 - notifiers are imported by the task that tells them

import logging
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

from airflow.providers.standard.exceptions import HITLTimeoutError
from airflow.providers.standard.operators.hitl import ApprovalOperator
from airflow.sdk import get_current_context, task
from airflow.sdk.exceptions import AirflowSkipException

from strandline.errors import Terminal
from strandline.sources import duration
from strandline.sources.source import Source
from strandline_airflow.runs import orders
from strandline_airflow.runs.orders import Order

if TYPE_CHECKING:
    from strandline_airflow.pipelines.pipeline import Form

log = logging.getLogger(__name__)

_PREVIEW, _APPROVE, _LINES = "preview", "approve", "lines"
_SOMEBODY = "Somebody"
_BODY = (
    f"{{{{ dag_run.triggering_user_name or '{_SOMEBODY}' }}}} wants this to be done:\n\n"
    "{% for line in ti.xcom_pull(task_ids='preview', key='lines') %}* {{ line }}\n{% endfor %}"
)


class Approval(ApprovalOperator):
    """Airflow's own, which says in its log what came of it; no answer in time is a failure."""

    def execute_complete(self, context: Any, event: dict[str, Any]) -> Any:
        """See `ApprovalOperator`, which ends by raising where it has tasks skipped.

        Raises `Terminal` where nobody has answered.
        """
        if "error" not in event:
            done = event["chosen_options"] == [self.APPROVE]
            by = (event["responded_by_user"] or {}).get("name") or "somebody"
            log.info("%s by %s", "Approved" if done else "Refused, so nothing is done,", by)
        try:
            return super().execute_complete(context, event)
        except HITLTimeoutError as error:
            within = duration.shown(self.response_timeout) if self.response_timeout else "time"
            raise Terminal(
                f"nobody has answered within {within}, so nothing was done: trigger {self.dag_id} "
                "again"
            ) from error


def asked_for(source: Source, form: "Form", plan: Any) -> None:
    """Puts before the task `plan` of a form what shows its order and waits for a person's word."""

    @task.branch(task_id=_PREVIEW)
    def preview() -> str:
        with orders.filled_in(form.params, form.scheduled) as (params, run_after):
            order = form.order(source, params, run_after)
        for line in order.lines:
            log.info("%s", line)
        if params["dry_run"]:
            raise AirflowSkipException(orders.DRY)
        if not form.acts(params):
            return "plan"
        context = get_current_context()
        context["ti"].xcom_push(_LINES, list(order.lines))
        _tell(source, context, order)
        return _APPROVE

    approve = Approval(
        task_id=_APPROVE,
        subject=f"{form.what}__{source.name}: is this to be done?",
        body=_BODY,
        response_timeout=source.approval.within,
        assigned_users=[{"id": user, "name": user} for user in source.approval.by] or None,
        retries=0,
    )
    previewed = preview()
    previewed >> approve >> plan
    previewed >> plan


def _tell(source: Source, context: Any, order: Order) -> None:
    """Tells those who are told of alerts that somebody's word is waited for."""
    from strandline_airflow import notifiers

    run = context["dag_run"]
    message = notifiers.Message(
        title=f"Strandline: {run.dag_id} waits for an approval",
        text="\n".join(
            (
                f"{run.triggering_user_name or _SOMEBODY} wants this to be done:",
                *order.lines,
                f"Without an answer within {duration.shown(source.approval.within)} it is not.",
            )
        ),
        url=notifiers.address(f"dags/{run.dag_id}/runs/{quote(run.run_id)}/tasks/{_APPROVE}"),
    )
    notifiers.send_to_all(notifiers.configured(source), message)


def check(order: Order) -> None:
    """`Terminal` where what a person has approved is not what would be done by now.

    Only of orders that are as final as their lines.
    """
    approved = get_current_context()["ti"].xcom_pull(task_ids=_PREVIEW, key=_LINES)
    if not order.is_final or approved is None or list(order.lines) == list(approved):
        return
    news = "; ".join(line for line in order.lines if line not in approved)
    raise Terminal(
        f"what was approved is not what would be done by now ({news}): nothing was done; trigger "
        "it again, and it is shown as it stands"
    )
