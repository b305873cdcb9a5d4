"""What an erasure leaves to the next run, beside what it takes away."""

from dataclasses import asdict, replace

from events import Stream
from strandline_spark.engine import CaptureLake
from strandline_spark.work import done

from strandline.engine import recorded_at
from strandline.runs.erasure import Erasure, digest
from strandline.runs.lake import SourceLake
from strandline.runs.manifest import TableCut, Work

TOPIC = "shop.public.item"


def test_halves_of_moves_of_other_keys_wait_on_when_a_key_is_erased(spark, tmp_path):
    s = Stream()
    s.change("c", 1, 10, name="A")
    s.change("d", 1, 20, newkey=2)
    s.change("c", 9, 30, name="B")
    s.change("d", 9, 40, newkey=8)
    capture = CaptureLake(
        SourceLake(tmp_path.as_posix(), "shop"),
        "postgresql",
        recorded_at(s.records),
        session=spark,
    )
    (receipt,) = capture.runs([s.records])
    assert receipt.tables[0].orphaned_moves == 2
    order = asdict(Erasure((digest('{"id":9}'),)))
    manifest = replace(
        capture.manifest(2, s.records), work=Work.ERASE, order=order,
        tables=(TableCut(TOPIC, TOPIC, ()),),
    )  # fmt: skip
    (erased,) = done(spark, manifest).tables
    assert erased.error is None
    s.change("c", 2, 20, name="A", oldkey=1)
    capture.land(s.records[-1:])
    (met,) = done(spark, capture.manifest(3, s.records[-1:])).tables
    assert (met.error, met.orphaned_moves) == (None, 0)
