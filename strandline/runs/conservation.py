"""Law 6 of one table and run, asked before its history is committed."""

from strandline.errors import AuditError
from strandline.runs.receipt import Counts


def check(counts: Counts, topic: str) -> None:
    """`AuditError` where landed records vanished or multiplied (law 6)."""
    if not counts.conserved:
        raise AuditError(
            f"{topic}: {counts.landed} records were landed, but {counts.changes} changes, "
            f"{counts.duplicates} duplicates, {counts.control} control records and "
            f"{counts.quarantined} quarantined were counted; nothing was committed. "
            "This is a fault of Strandline: keep the lake and report it"
        )
