"""A log that began anew without anybody saying so: positions that go back where none can.

A connector sends the changes of a key to one partition in the order of the log, and after a crash
it repeats them. So a change of a key that was never seen, behind a newer one in the same partition,
is of another lineage: of a server that was restored, or took over. Compared with the old one's its
position says nothing, and the history would silently be wrong (docs/facts/order.md, "Another
lineage of the log").
"""

from strandline.errors import Terminal


def message(partition: int, offset: int, position: str | None) -> str:
    """What is to be said of the first change that goes back."""
    return (
        f"the record at offset {offset} of partition {partition} goes back to position {position}: "
        "a record before it changed the same row at a later one. If the source's log has begun "
        "anew (a failover, a restore), declare an epoch since that record's time in Kafka, with "
        "the DAG epoch__SOURCE or an [[epoch]] in the source file"
    )


def held(regress: str) -> Terminal:
    """What stops a table until somebody decides."""
    return Terminal(f"{regress}; if not, `hold_regress = false` has positions order as they are")
