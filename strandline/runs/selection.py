"""Which quarantined records are to be read again: the `order` of such a manifest."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Selection:
    """Records refused for `reason`, with a Kafka time in `[since, until)` (ISO-8601 instants).

    None does not restrict; a record without a time is in no span.
    """

    reason: str | None = None
    since: str | None = None
    until: str | None = None
