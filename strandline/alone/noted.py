"""What a run leaves with its commit of a history, for the next one to go on from."""

import json
from base64 import b64decode, b64encode
from dataclasses import asdict, dataclass

from deltalake import DeltaTable

from strandline.alone import fencing
from strandline.errors import Terminal
from strandline.law.facts import NONE, Facts, document
from strandline.runs.receipt import Counts, TableReceipt


@dataclass(frozen=True, slots=True)
class Noted:
    """A run's receipt, the facts of its table, and the `rules` that the history was made by.

    `facts` None: another release has written them.
    """

    receipt: TableReceipt
    facts: Facts | None
    rules: str

    def text(self) -> str:
        """As JSON."""
        facts = b64encode(document.written(self.facts or NONE)).decode()
        told = {"receipt": asdict(self.receipt), "facts": facts, "rules": self.rules}
        return json.dumps(told)

    @staticmethod
    def from_text(text: str) -> "Noted":
        """What `text` wrote; `Terminal` where the other way, or another release, wrote it."""
        told = json.loads(text)
        if "facts" not in told:
            raise Terminal(
                "the runs before went through Spark, which notes other things: go on through Spark"
            )
        counts = Counts(**told["receipt"].pop("counts"))
        receipt = TableReceipt(counts=counts, **told["receipt"])
        try:
            facts = document.read(b64decode(told["facts"]))
        except Terminal:  # of another release: what is on record tells them anew
            facts = None
        return Noted(receipt, facts, told["rules"])


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
