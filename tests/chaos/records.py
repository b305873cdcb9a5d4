"""The records of a story: small, and such that every table that a run can write is written."""

from samples.events import Stream

from strandline.changes.record import Record

ROWS, CUT = "shop.public.rows", "shop.public.cut"
TOPICS = {ROWS: 2, CUT: 2}
TABLES = {topic: topic.removeprefix("shop.") for topic in TOPICS}
_GONE = "__debezium_unavailable_value"


def waves() -> list[list[Record]]:
    """Three waves: a first load, newer and late changes, a truncate that reaches back.

    After the load each wave is of one table: what Spark plans is what a run costs here.
    """
    rows, cut = Stream(topic=ROWS), Stream(topic=CUT)
    steps = (_load, _late, _truncated)
    found: list[list[Record]] = []
    for step in steps:
        before = len(rows.records), len(cut.records)
        step(rows, cut)
        found.append([*rows.records[before[0] :], *cut.records[before[1] :]])
    return found


def _load(rows: Stream, cut: Stream) -> None:
    for key in range(1, 7):
        rows.change("c", key, 10 + key, name=f"A{key}", bio="long", partition=key % 2)
        cut.change("c", key, 110 + key, name=f"C{key}", partition=key % 2)
    rows.add(rows.key(8), b"nonsense")
    rows.change("d", 7, 50)  # of a row that was never seen
    rows.change("u", 1, 30, name="A1b", bio=_GONE, partition=1)


def _late(rows: Stream, _: Stream) -> None:
    rows.change("u", 1, 60, name="A1d", bio=_GONE, partition=1)
    rows.change("u", 1, 40, name="A1c", bio=_GONE, partition=0)  # late
    rows.change("u", 2, 61, name="A2b", bio=_GONE)
    again = [rows.change("d", 3, 62, partition=1), rows.tombstone(3, partition=1)]
    rows.again(*again)
    rows.change("c", 7, 45, name="older than its delete", partition=1)
    rows.change("d", 4, 63, newkey=9)
    rows.change("c", 9, 63, name="A4", bio=_GONE, oldkey=4, partition=1)
    rows.add(rows.key(8), b"nonsense again")


def _truncated(_: Stream, cut: Stream) -> None:
    cut.change("u", 1, 140, name="C1b", partition=1)
    cut.truncate(130)
    cut.truncate(150, partition=1)
    cut.change("c", 2, 160, name="C2 again")
