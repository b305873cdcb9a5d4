"""One look at a source: what is new is put on record, then told, then struck off.

The state lies in a Delta table of the source that has one row. Whoever looks commits first, under a
claim, and tells then: of two watchers at once one tells, and what could not be told is kept for the
next look. Only a process that dies between telling and striking off tells twice.

Where the lake cannot be used there is no state either. Then the notifiers are told of that alone,
at once and again in the first look of each hour; that it is over is not told.
"""

import json
import logging
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import asdict, dataclass, replace
from datetime import datetime, timedelta
from typing import Any

import pyarrow as pa
from deltalake import DeltaTable

from strandline.errors import StrandlineError, Terminal, Transient
from strandline.runs.lake import SourceLake
from strandline.runs.standing import Ended, SourceStanding, Verdict
from strandline.runs.watch import Alert, Condition, State, look
from strandline.sources.source import NotifierSpec, Source
from strandline_airflow import metrics
from strandline_airflow.addresses import page_of
from strandline_airflow.ledger import Claim, Ledger, Superseded
from strandline_airflow.monitoring import catalogue
from strandline_airflow.monitoring.reminders import is_due, reminder
from strandline_airflow.notifiers import (
    Message,
    configured,
    identity,
    send,
    send_to_all,
)

log = logging.getLogger(__name__)

WATCH = pa.schema(
    [
        pa.field("number", pa.int64(), nullable=False),
        pa.field("state", pa.string(), nullable=False),
        pa.field("outbox", pa.string(), nullable=False),
    ]
)
KEPT = timedelta(days=1)  # what nobody would take for so long is told to nobody
_ID = "watch"
_TIDY = 100  # commits, after which the files of old states go


@dataclass(frozen=True, slots=True)
class Letter:
    """A message on its way to one notifier, by its identity."""

    notifier: str
    made_at: str
    message: Message

    @staticmethod
    def from_fields(fields: dict[str, Any]) -> "Letter":
        """The letter from JSON's types."""
        message = fields.pop("message")
        return Letter(**fields, message=Message(**{**message, "alerts": tuple(message["alerts"])}))


@dataclass(frozen=True, slots=True)
class Memory:
    """What the last look left: the state, and letters that are not delivered."""

    number: int
    state: State
    outbox: tuple[Letter, ...] = ()


def _ledger(source: Source) -> Ledger:
    uri = SourceLake(source.lake, source.name).watch
    return Ledger(uri, WATCH)


def _recalled(ledger: Ledger, table: DeltaTable) -> Memory:
    """What the last look left in this version of the table."""
    number = table.transaction_version(_ID)
    if number is None:
        return Memory(0, State())
    (row,) = ledger.rows(table, number=number)
    letters = tuple(map(Letter.from_fields, json.loads(row["outbox"])))
    return Memory(number, State.from_json(row["state"]), letters)


class Watcher:
    """Looks at one source."""

    def __init__(self, source: Source) -> None:
        self._source = source
        self._ledger = _ledger(source)

    def look(
        self,
        instant: datetime,
        *,
        ended: Mapping[str, Ended] | None = None,
        failed_before: bool = False,
        last_try: bool = True,
    ) -> tuple[Alert, ...]:
        """Tells what has started and ended; returns it. `ended` is that of `SourceStanding`.

        Raises `Transient` or `Terminal` where somebody could not be told; it is kept for the next
        look. Where nobody can look, or keep what was seen, that is told, unless the look before has
        failed as well or another try may do better; then raises what went wrong.
        """
        specs = configured(self._source)
        try:
            alerts, after = self._seen(specs, instant, ended or {})
        except Superseded:
            raise
        except Exception as error:
            metrics.send(metrics.of_unwatched(self._source.name))
            final = last_try or isinstance(error, Terminal)
            if final and is_due(instant, failed_before=failed_before):
                send_to_all(specs, _unwatched(self._source.name, error, instant))
            raise
        self._deliver(after, specs)
        return alerts

    def _seen(
        self, specs: Iterable[NotifierSpec], instant: datetime, ended: Mapping[str, Ended]
    ) -> tuple[tuple[Alert, ...], Memory]:
        """What is new, and the memory that has it."""
        standing = replace(catalogue.standing(self._source, ask_kafka=True), ended=ended)
        before = _recalled(self._ledger, self._ledger.ensure())
        alerts, state = look(before.state, standing, instant)
        _log(standing, alerts, instant)
        metrics.send(metrics.of_standing(standing, instant, len(state.reported)))
        letters = _letters(self._source, alerts, specs, instant)
        waiting = (*_not_too_old(before.outbox, instant), *letters)
        return alerts, self._keep(before, replace(before, state=state, outbox=waiting))

    def _deliver(self, after: Memory, specs: Iterable[NotifierSpec]) -> None:
        left = _undelivered(after.outbox, specs)
        outbox = tuple(letter for letter, _ in left)
        self._keep(after, replace(after, outbox=outbox))
        if left:
            terminal = all(isinstance(error, Terminal) for _, error in left)
            why = "; ".join(sorted({str(error) for _, error in left}))
            raise (Terminal if terminal else Transient)(f"not everybody was told: {why}")

    def _keep(self, before: Memory, after: Memory) -> Memory:
        """Commits what is new; `Superseded` where somebody else has looked in between."""
        if after.state.same(before.state) and after.outbox == before.outbox:
            return before
        kept = replace(after, number=before.number + 1)
        row = {
            "number": kept.number,
            "state": kept.state.to_json(),
            "outbox": json.dumps([asdict(letter) for letter in kept.outbox]),
        }
        table = self._ledger.ensure()
        claim = Claim(_ID, before.number or None, kept.number)
        self._ledger.replace(table, pa.Table.from_pylist([row], WATCH), [claim])
        if kept.number % _TIDY == 0:
            self._ledger.tidy(table)
        return kept


def of_source(source: Source) -> tuple[Condition, ...]:
    """What the last look found wrong with a source as a whole, as it was told; no look is made."""
    table = _ledger(source).open()
    reported = () if table is None else _recalled(_ledger(source), table).state.reported.values()
    return tuple(condition for condition in reported if not condition.table)


def _letters(
    source: Source, alerts: Iterable[Alert], specs: Iterable[NotifierSpec], instant: datetime
) -> tuple[Letter, ...]:
    """One message for all that is new, to each notifier."""
    found = list(alerts)
    if not found:
        return ()
    message = _message(source.name, found)
    return tuple(Letter(identity(spec), instant.isoformat(), message) for spec in specs)


def _message(source: str, alerts: list[Alert]) -> Message:
    first = alerts[0]
    pages = [page_of(source, alert.condition.table) for alert in alerts]
    title = first.title if len(alerts) == 1 else f"{first.title}, and {len(alerts) - 1} more"
    lines = [
        f"{alert.title}, {alert.text}\n{page}" for alert, page in zip(alerts, pages, strict=True)
    ]
    return Message(
        title=f"Strandline: {title}",
        text="\n".join(lines),
        url=pages[0] if len(alerts) == 1 else page_of(source),
        alerts=tuple(_plainly(alert, page) for alert, page in zip(alerts, pages, strict=True)),
    )


def _unwatched(source: str, error: Exception, instant: datetime) -> Message:
    """That nobody knows how the source stands."""
    # The text of an error that is not ours may be long, and hold anything.
    unforeseen = f"{type(error).__name__}: the log of watch__freshness has the rest"
    cause = str(error) if isinstance(error, StrandlineError) else unforeseen
    return reminder(
        f"{source}: cannot be watched",
        cause,
        meanwhile=f"Nothing else is told of {source}",
        kind="unwatched",
        source=source,
        page=page_of(source),
        instant=instant,
    )


def _plainly(alert: Alert, page: str) -> dict[str, Any]:
    of = alert.condition
    return {
        "source": alert.source,
        "table": of.table or None,
        "kind": of.kind.value,
        "ended": alert.ended,
        "since": of.since.isoformat(),
        "behind_seconds": None if of.behind is None else of.behind.total_seconds(),
        "cause": of.cause,
        "url": page,
    }


def _not_too_old(letters: Iterable[Letter], instant: datetime) -> Iterator[Letter]:
    for letter in letters:
        if instant - datetime.fromisoformat(letter.made_at) <= KEPT:
            yield letter
        else:
            log.error("Nobody took it for a day, now it is dropped: %s", letter.message.title)


def _undelivered(
    letters: Iterable[Letter], specs: Iterable[NotifierSpec]
) -> tuple[tuple[Letter, StrandlineError], ...]:
    """Delivers; gives those that could not be, with why.

    A notifier that has failed is not asked again, so that nobody waits for it longer than once. The
    letter that it failed on comes last: it may be the only one that is not taken.
    """
    known = {identity(spec): spec for spec in specs}
    failed: dict[str, tuple[Letter, StrandlineError]] = {}
    untried: list[tuple[Letter, StrandlineError]] = []
    for letter in letters:
        spec = known.get(letter.notifier)
        if spec is None:
            log.warning("Notifier %s is gone: %s", letter.notifier, letter.message.title)
        elif letter.notifier in failed:
            untried.append((letter, failed[letter.notifier][1]))
        else:
            try:
                send(spec, letter.message)
            except StrandlineError as error:
                failed[letter.notifier] = letter, error
    return (*untried, *failed.values())


def _log(standing: SourceStanding, alerts: Iterable[Alert], instant: datetime) -> None:
    found = Counter(each.verdict(instant) for each in standing.tables)
    stand = ", ".join(f"{found[verdict]:,} {verdict}" for verdict in Verdict if found[verdict])
    log.info("Looked at %s: %s", standing.source, stand or "it has no table yet")
    if standing.silent:
        log.warning("%s: %s", standing.source, standing.silent)
    for alert in alerts:
        log.warning("%s, %s", alert.title, alert.text)
