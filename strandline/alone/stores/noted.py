"""What a run leaves with its commit of a history, for the next one to go on from."""

import json
from base64 import b64decode, b64encode
from dataclasses import asdict, dataclass

from deltalake import DeltaTable

from strandline.alone.stores import fencing
from strandline.alone.stores.tables import rows
from strandline.errors import Terminal
from strandline.law.facts import Facts, document
from strandline.runs.receipt import Counts, TableReceipt
from strandline.runs.way import Way


@dataclass(frozen=True, slots=True)
class Noted:
    """A run's receipt, the facts of its table, and the `rules` that the history was made by.

    `facts` None: nobody knows them, so the next run reads all that is on record. Another release
    has written them, or the history is not what the run before made. `way` is `SPREAD` of a history
    that the release before has spread: what is on record of it lies elsewhere.
    `forgotten`: versions that ended before are no longer kept (an ISO-8601 instant).
    """

    receipt: TableReceipt
    facts: Facts | None
    rules: str
    way: Way = Way.ALONE
    forgotten: str | None = None

    @property
    def totals(self) -> Counts:
        """How many versions the history has, and how many of them are open."""
        counts = self.receipt.counts
        return Counts(history_rows=counts.history_rows, current_rows=counts.current_rows)

    @property
    def unknown(self) -> frozenset[str]:
        """The ids of schemas that records named and nobody knew."""
        return frozenset() if self.facts is None else self.facts.unknown

    def text(self) -> str:
        """As JSON."""
        facts = None if self.facts is None else b64encode(document.written(self.facts)).decode()
        told = {"receipt": asdict(self.receipt), "forgotten": self.forgotten}
        if self.way is Way.ALONE:
            told |= {"facts": facts, "rules": self.rules}
        return json.dumps(told)

    @staticmethod
    def from_text(text: str) -> "Noted":
        """What `text` wrote, or the way `spread`, which notes other things."""
        told = json.loads(text)
        counts = Counts(**told["receipt"].pop("counts"))
        receipt = TableReceipt(counts=counts, **told["receipt"])
        forgotten = told.get("forgotten")
        if "facts" not in told:
            return Noted(receipt, None, "", Way.SPREAD, forgotten)
        return Noted(receipt, _facts(told["facts"]), told["rules"], forgotten=forgotten)


def _facts(text: str | None) -> Facts | None:
    try:
        return None if text is None else document.read(b64decode(text))
    except Terminal:  # of another release: what is on record tells them anew
        return None


def totals(stored: DeltaTable) -> Counts:
    """How many versions a history has, and how many of them are open; counted where no note is."""
    known = last(stored)
    if known is not None:
        return known.totals
    found = rows(stored, "SELECT _is_current AS open FROM stored")
    return Counts(history_rows=len(found), current_rows=sum(row["open"] for row in found))


def last(stored: DeltaTable) -> Noted | None:
    """What the last run noted; None where the log has lost it: then all is read anew."""
    last = next(fencing.notes(stored), None)
    return None if last is None else Noted.from_text(last[1])


def of_run(stored: DeltaTable, run: int) -> Noted:
    """What a run noted that has committed to the history; `Terminal` where the log has lost it."""
    for number, text in fencing.notes(stored):
        if number == run:
            return Noted.from_text(text)
    raise Terminal(
        f"{stored.table_uri}: run {run} was applied, but its commit is no longer in the log"
    )
