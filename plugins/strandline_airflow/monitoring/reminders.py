"""What nobody keeps on record, told as long as it lasts: at the first look, and once an hour."""

from datetime import datetime

from strandline_airflow.notifiers import Message

_MINUTES = 5  # of an hour, in which its first look falls


def is_due(instant: datetime, *, failed_before: bool) -> bool:
    """Whether it is told at this look."""
    return not failed_before or instant.minute < _MINUTES


def reminder(  # noqa: PLR0913 - what an alert is made of
    what: str, cause: str, *, meanwhile: str, kind: str, source: str | None, page: str,
    instant: datetime,
) -> Message:  # fmt: skip
    """The message; `what` is wrong, and `meanwhile` says what is not done until it is mended."""
    return Message(
        title=f"Strandline: {what}",
        text=f"{cause}\n{meanwhile} until this is mended. It is told again once an hour, and not "
        f"when it is over.\n{page}",
        url=page,
        alerts=(
            {
                "source": source, "table": None, "kind": kind, "ended": False,
                "since": instant.isoformat(), "behind_seconds": None, "cause": cause, "url": page,
            },
        ),
    )  # fmt: skip
