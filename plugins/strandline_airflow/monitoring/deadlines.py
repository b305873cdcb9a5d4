"""A run that takes too long is told while it does, not when it has ended.

A deadline counts from the time for which a run was planned, or from when Airflow made it where that
was later: the first run of a DAG that was paused has not taken long. Airflow's own reference from
the time of queueing makes it impossible to clear such a run (docs/facts/airflow.md, "Deadlines").
"""

from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, ClassVar

from airflow.sdk import (  # type: ignore[attr-defined] # its stub has none of deadlines
    AsyncCallback,
    BaseDeadlineReference,
    DagRunState,
    DeadlineAlert,
    DeadlineReference,
    deadline_reference,
)

from strandline.errors import Transient
from strandline.sources import duration
from strandline.sources.source import Source

_ENDED = frozenset({DagRunState.SUCCESS, DagRunState.FAILED})


@deadline_reference(DeadlineReference.TYPES.DAGRUN_QUEUED)
class RunAfter(BaseDeadlineReference):  # type: ignore[misc] # see above: no stub, so Any
    """The time from which a run could be on its way, however it came to be."""

    required_kwargs: ClassVar[set[str]] = {"dag_id", "run_id"}

    def _evaluate_with(self, *, session: Any, dag_id: str, run_id: str) -> datetime | None:
        # Airflow's database is for the scheduler, which is who asks, and lends its session.
        from sqlalchemy import TIMESTAMP, column, select, table  # noqa: PLC0415

        ids: list[Any] = [column(name) for name in ("dag_id", "run_id")]
        times = [column(name, TIMESTAMP(timezone=True)) for name in ("run_after", "created_at")]
        run = table("dag_run", *ids, *times)
        asked = select(run.c.run_after, run.c.created_at)
        found = session.execute(asked.where(run.c.dag_id == dag_id, run.c.run_id == run_id)).first()
        # Runs of older Airflows have no time at which they were made; all times there are UTC.
        known = (time for time in found or () if time is not None)
        return max(
            (time if time.tzinfo else time.replace(tzinfo=UTC) for time in known), default=None
        )


def of(source: Source, path: Path, dag_id: str) -> DeadlineAlert:
    """A run of the DAG has to have ended within the time that a change may wait."""
    within = source.default_tolerance.freshness
    return DeadlineAlert(
        name=f"{dag_id} within {duration.shown(within)}",
        reference=RunAfter(),
        interval=within,
        # In the triggerer: a callback for the executor would wait for the slots that are missing.
        callback=AsyncCallback(missed, kwargs={"source": str(path), "dag_id": dag_id}),
    )


async def missed(source: str, dag_id: str, context: Mapping[str, Any]) -> None:
    """Tells the notifiers of the source (a file) that a run of the DAG is still not through.

    Of a run that has ended nothing is told: Airflow keeps the deadline of each run that fails, and
    that runs fail is told once, by the watch. Raises `Transient` where not everybody could be told.
    Airflow logs it and does not try again.
    """
    from strandline.sources import source as source_file  # noqa: PLC0415 - not while DAGs are parsed
    from strandline_airflow import notifiers  # noqa: PLC0415

    if context["dag_run"]["state"] in _ENDED:
        return
    spec = source_file.load(Path(source))
    message = _message(spec, dag_id, context)
    failed = await notifiers.send_to_all_from_trigger(notifiers.configured(spec), message)
    if failed:
        raise Transient(f"not everybody was told: {'; '.join(map(str, failed))}")


def _message(source: Source, dag_id: str, context: Mapping[str, Any]) -> Any:
    from strandline_airflow.notifiers import Message, address  # noqa: PLC0415

    run_id, state = context["dag_run"]["dag_run_id"], context["dag_run"]["state"]
    within = source.default_tolerance.freshness
    since = datetime.fromisoformat(str(context["deadline"]["deadline_time"])) - within
    cause = (
        f"Run {run_id} has not ended within the {duration.shown(within)} that a change of "
        f"{source.name} may wait (it is {state}). Is a task waiting for its pool, for a worker, or "
        "for Spark?"
    )
    url = address(f"dags/{dag_id}/runs/{run_id}")
    return Message(
        title=f"Strandline: {source.name}: {dag_id} takes too long",
        text=f"{cause}\n{url}",
        url=url,
        alerts=(
            {
                "source": source.name, "table": None, "kind": "deadline", "ended": False,
                "since": since.isoformat(), "behind_seconds": within.total_seconds(),
                "cause": cause, "url": url, "dag_id": dag_id, "run_id": run_id,
            },
        ),
    )  # fmt: skip
