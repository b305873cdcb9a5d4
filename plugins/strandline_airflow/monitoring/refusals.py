"""Source files that are refused: what they name is neither landed nor watched, so this is told."""

from collections.abc import Iterable, Sequence
from datetime import datetime

from strandline.errors import StrandlineError, Terminal
from strandline.sources.source import NotifierSpec, Source
from strandline_airflow.addresses import overview
from strandline_airflow.monitoring.reminders import is_due, reminder
from strandline_airflow.notifiers import Message, identity, of_environment, send_to_all


def tell(
    refused: Sequence[str], others: Iterable[Source], instant: datetime, *, failed_before: bool
) -> None:
    """Tells that files are refused, once an hour; `refused` has a line for each of them.

    Told are the notifiers of the environment, and without such those of the `others`: those of a
    refused file nobody knows. Raises `Terminal` as long as a file is refused, with what is wrong.
    """
    if not refused:
        return
    failed: list[StrandlineError] = []
    if is_due(instant, failed_before=failed_before):
        failed = send_to_all(_specs(others), _message(refused, instant))
    raise Terminal("\n".join([*refused, *map(str, failed)]))


def _specs(others: Iterable[Source]) -> tuple[NotifierSpec, ...]:
    found = {identity(spec): spec for source in others for spec in source.notifiers}
    return of_environment() or tuple(found.values())


def _message(refused: Sequence[str], instant: datetime) -> Message:
    what = "a source file is" if len(refused) == 1 else f"{len(refused)} source files are"
    return reminder(
        f"{what} refused",
        "\n".join(refused),
        meanwhile="Nothing of it is landed, compacted or watched",
        kind="refused",
        source=None,
        page=overview(),
        instant=instant,
    )
