"""When the DAGs of a source run: cron expressions, as Airflow takes them."""

from datetime import UTC, datetime

from airflow.sdk import CronTriggerTimetable
from airflow.sdk.exceptions import AirflowException
from croniter import CroniterBadDateError, croniter

from strandline.errors import SpecError
from strandline.sources.source import Source


def cron(expression: str | None) -> CronTriggerTimetable | None:
    """The timetable of a cron expression, in UTC; None for DAGs that people trigger."""
    return None if expression is None else CronTriggerTimetable(expression, timezone="UTC")


def check(source: Source, path: object) -> None:
    """`SpecError` for a schedule that Airflow would refuse, or stumble over.

    Airflow would refuse the whole DAG file, and looks only at some schedules. One that never occurs
    it takes, and stumbles when it asks for the next run.
    """
    for key in ("land", "compact", "maintain"):
        _check(getattr(source, f"{key}_schedule"), f"{path}: [schedule]: '{key}'")


def _check(expression: str | None, where: str) -> None:
    timetable = cron(expression)
    if timetable is None:
        return
    try:
        timetable.validate()
    except AirflowException as error:
        raise SpecError(
            f"{where} must be a cron expression such as '*/5 * * * *', not {expression!r}: {error}"
        ) from error
    try:
        croniter(timetable.expression, datetime.now(UTC)).get_next()
    except CroniterBadDateError as error:
        raise SpecError(
            f"{where} never occurs: {expression!r}; write a day that its month has, or leave it out"
        ) from error
