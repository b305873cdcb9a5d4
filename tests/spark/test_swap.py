"""A replay that cannot put all of a table's new stores in the place of the old ones."""

from dataclasses import asdict, replace

import pytest
from events import Stream
from strandline_spark import delta, swap
from strandline_spark.compaction import compact
from strandline_spark.engine import CaptureLake
from strandline_spark.work import done

from strandline.engine import recorded_at
from strandline.errors import Terminal, Transient
from strandline.runs.lake import SourceLake
from strandline.runs.manifest import Work
from strandline.runs.rebuild import STORES, Rebuild

TOPIC = "shop.public.item"


@pytest.fixture
def capture(spark, tmp_path):
    lake = SourceLake(tmp_path.as_posix(), "shop")
    return CaptureLake(lake, "postgresql", recorded_at([Stream().change("c", 1, 1)]), session=spark)


def replaying(capture, number, records, **order):
    lake = capture.lake
    paths = {name: getattr(lake, name) for name in STORES}
    before = {
        name: delta.version(capture.session, path if isinstance(path, str) else path(TOPIC))
        for name, path in paths.items()
    }
    told = asdict(Rebuild(before={TOPIC: before}, **order))
    return replace(capture.manifest(number, records), work=Work.REPLAY, order=told)


def names(capture):
    rows = delta.read(capture.session, capture.lake.history(TOPIC)).orderBy("_key", "_seq_from")
    return [row["name"] for row in rows.collect()]


def test_a_swap_that_fails_half_way_is_not_over_and_is_done_when_it_is_tried_again(
    capture, monkeypatch
):
    s = Stream()
    records = [s.change("c", 1, 10, name="A"), s.change("u", 1, 30, name="C")]
    late = s.change("u", 1, 20, name="B")
    capture.land(s.records)
    compact(capture.session, capture.manifest(1, records))
    manifest = replaying(capture, 2, records, swap=True)
    overwrite = swap._overwrite  # noqa: SLF001 - the step that fails

    def failing(rows, path, *others):
        if path == capture.lake.history(TOPIC):
            raise Transient("no space left on the device")
        overwrite(rows, path, *others)

    with monkeypatch.context() as broken:
        broken.setattr(swap, "_overwrite", failing)
        with pytest.raises(Terminal, match=r"after its changes had been.*no space left"):
            done(capture.session, manifest)
    assert done(capture.session, manifest).tables[0].error is None
    (table,) = compact(capture.session, capture.manifest(3, [late])).tables
    assert table.error is None
    assert names(capture) == ["A", "B", "C"]
