"""When the DAGs of a source run: cron expressions, as Airflow takes them."""

from datetime import UTC, datetime
from pathlib import Path

from airflow.sdk import CronTriggerTimetable
from airflow.sdk.exceptions import AirflowException
from croniter import CroniterBadDateError, croniter

from strandline.sources.mistakes import Mistakes
from strandline.sources.source import Source


def cron(expression: str | None) -> CronTriggerTimetable | None:
    """The timetable of a cron expression, in UTC; None for DAGs that people trigger."""
    return None if expression is None else CronTriggerTimetable(expression, timezone="UTC")


def check(source: Source, path: Path) -> None:
    """`SpecError` for schedules that Airflow would refuse, or stumble over.

    Airflow would refuse the whole DAG file, and looks only at some schedules. One that never occurs
    it takes, and stumbles when it asks for the next run.
    """
    mistakes = Mistakes(path)
    for key in ("land", "compact", "maintain"):
        wrong = _fault(getattr(source, f"{key}_schedule"))
        if wrong is not None:
            mistakes.note(f"[schedule]: '{key}' {wrong}")
    mistakes.tell()


def _fault(expression: str | None) -> str | None:
    """What is wrong with a schedule."""
    timetable = cron(expression)
    if timetable is None:
        return None
    try:
        timetable.validate()
        croniter(timetable.expression, datetime.now(UTC)).get_next()
    except AirflowException as error:
        return f"must be a cron expression such as '*/5 * * * *', not {expression!r}: {error}"
    except CroniterBadDateError:
        return f"never occurs: {expression!r}; write a day that its month has, or leave it out"
    return None
