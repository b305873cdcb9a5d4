"""What an erasure leaves to the next run, beside what it takes away."""

from dataclasses import asdict, replace

import pytest
from samples.events import Stream
from strandline_spark import delta
from strandline_spark.engine import CaptureLake
from strandline_spark.work import done

from strandline.changes.rules import TableRules
from strandline.engine import recorded_at
from strandline.runs.erasure import Erasure, digest
from strandline.runs.lake import SourceLake
from strandline.runs.manifest import TableCut, Work

TOPIC = "shop.public.item"


@pytest.mark.heavy
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


@pytest.mark.heavy
def test_a_key_is_erased_under_the_name_that_it_had_before_its_column_was_renamed(spark, tmp_path):
    s = Stream()
    s.change("c", 1, 10, name="secret")
    s.add(b'{"id":1}', b'{"op":"u","secret":1}')
    s.change("c", 2, 20, name="kept")
    lake = SourceLake(tmp_path.as_posix(), "shop")
    capture = CaptureLake(lake, "postgresql", recorded_at(s.records), session=spark)
    (first,) = capture.runs([s.records])
    assert first.tables[0].error is None
    capture.rules = lambda _: TableRules(rename=(("id", "no"),))
    s.change("u", 2, 30, name="kept, too")
    capture.land(s.records[3:])
    (met,) = done(spark, capture.manifest(2, s.records[3:])).tables
    assert met.error is None
    rows = delta.read(spark, lake.history(TOPIC)).orderBy("_key", "_seq_from")
    assert [(row["_key"], row["no"], row["name"]) for row in rows.collect()] == [
        ('{"no":1}', 1, "secret"), ('{"no":2}', 2, "kept"), ('{"no":2}', 2, "kept, too")
    ]  # fmt: skip
    assert "id" not in rows.columns
    manifest = replace(
        capture.manifest(3, s.records), work=Work.ERASE,
        order=asdict(Erasure((digest('{"no":1}'),))),
    )  # fmt: skip
    cut = replace(manifest.tables[0], ranges=())
    (erased,) = done(spark, replace(manifest, tables=(cut,))).tables
    assert erased.error is None
    for path in (lake.landing, lake.quarantine, lake.records(TOPIC), lake.history(TOPIC)):
        texts = delta.read(spark, path).selectExpr("to_json(struct(*)) AS row").collect()
        found = "".join(row["row"] for row in texts)
        assert "secret" not in found
        assert "c2VjcmV0" not in found
