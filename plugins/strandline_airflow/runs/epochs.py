"""The lineages of a source's log that were declared by a run, beside those of its file.

They lie in the lake, because that is what they are about: whoever copies the lake has them. Nothing
is taken back here; the number of an epoch is part of every position that was given out since.
"""

from collections.abc import Iterable
from dataclasses import replace
from datetime import UTC, datetime

import pyarrow as pa

from strandline.changes.rules import Epoch
from strandline.errors import SpecError
from strandline.runs.lake import SourceLake
from strandline.runs.manifest import TableCut
from strandline.sources.source import Source
from strandline_airflow.ledger import Claim, Ledger

EPOCHS = pa.schema(
    [
        pa.field("number", pa.int64(), nullable=False),
        pa.field("since", pa.int64(), nullable=False),
        pa.field("declared_at", pa.string(), nullable=False),
        pa.field("note", pa.string(), nullable=False),
    ]
)
_ID = "epoch"


class Epochs:
    """The epochs of one source; `since` is Kafka's time in milliseconds."""

    def __init__(self, source: Source) -> None:
        self._source = source
        self._ledger = Ledger(SourceLake(source.lake, source.name).epochs, EPOCHS)

    def all(self) -> tuple[Epoch, ...]:
        """Those of the file and of the lake, in their order.

        Raises `SpecError` where the two contradict each other.
        """
        table = self._ledger.open()
        rows = [] if table is None else self._ledger.rows(table)
        declared = {row["number"]: Epoch(row["number"], row["since"]) for row in rows}
        for epoch in self._source.default_rules.epochs:
            if declared.setdefault(epoch.number, epoch) != epoch:
                raise SpecError(
                    f"{self._source.name}: epoch {epoch.number} was declared since "
                    f"{shown(declared[epoch.number].since)}, but its source file says "
                    f"{shown(epoch.since)}: take it out of the file, or give it the same moment"
                )
        ordered = tuple(sorted(declared.values(), key=lambda epoch: epoch.number))
        if list(ordered) != sorted(ordered, key=lambda epoch: epoch.since):
            raise SpecError(
                f"{self._source.name}: the epochs of its source file and those declared by "
                f"epoch__{self._source.name} are not in one order: later ones need higher numbers"
            )
        return ordered

    def following(self, since: int) -> Epoch:
        """The next epoch; the one that is there where it begins at that very moment."""
        known = self.all()
        for epoch in known:
            if epoch.since == since:
                return epoch
        if known and since < known[-1].since:
            raise SpecError(
                f"{self._source.name}: 'since' is before epoch {known[-1].number}, which began at "
                f"{shown(known[-1].since)}: a lineage that was forgotten in between goes into the "
                "source file, and its tables are replayed"
            )
        return Epoch(known[-1].number + 1 if known else 1, since)

    def declare(self, epoch: Epoch, declared_at: str, note: str) -> bool:
        """Puts an epoch on record; False where it is there. Raises `Superseded` in a race."""
        if epoch in self.all():
            return False
        table = self._ledger.ensure()
        row = {
            "number": epoch.number,
            "since": epoch.since,
            "declared_at": declared_at,
            "note": note,
        }
        claim = Claim(_ID, table.transaction_version(_ID), epoch.number)
        self._ledger.append(table, pa.Table.from_pylist([row], EPOCHS), [claim])
        return True

    def on(self, cuts: Iterable[TableCut]) -> tuple[TableCut, ...]:
        """The cuts, with all epochs in their rules."""
        epochs = self.all()
        return tuple(replace(cut, rules=replace(cut.rules, epochs=epochs)) for cut in cuts)


def shown(since: int) -> str:
    """A moment in milliseconds as people write it."""
    return datetime.fromtimestamp(since / 1000, UTC).isoformat()
