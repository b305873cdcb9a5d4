"""Faults of the lake under a compaction: each has an outcome, and nothing is lost."""

import os
import resource
import threading
from contextlib import contextmanager
from dataclasses import replace

import pytest
from pyspark.sql import DataFrame
from samples.damage import corrupt, gone
from samples.events import Stream
from strandline_airflow.runs.folder import read_receipt, write_manifest
from strandline_airflow.runs.publications import Publications
from strandline_spark import attempts, delta
from strandline_spark.engine import CaptureLake
from strandline_spark.spread import replacement
from strandline_spark.spread.replacement import Replacement
from strandline_spark.work import done, work_off

from strandline.alone.stores import history
from strandline.alone.stores.fencing import Kept, OvertakenError
from strandline.engine import recorded_at
from strandline.law import interpret
from strandline.runs.lake import SourceLake

GOOD, BAD = "shop.public.good", "shop.public.bad"


def stream(topic):
    s = Stream(topic=topic)
    for key in range(5):
        s.change("c", key, 10 + key, name=f"{topic} {key}")
    return s


def more(s):
    s.change("u", 1, 50, name="changed")
    s.change("d", 2, 51)
    return s.records[-2:]


@pytest.fixture
def capture(spark, tmp_path):
    lake = SourceLake(tmp_path.as_posix(), "shop")
    return CaptureLake(lake, "postgresql", recorded_at(stream(GOOD).records), session=spark)


def versions(spark, capture, topic):
    """Key and name of every version, in their order; what closed it."""
    rows = delta.read(spark, capture.lake.history(topic)).orderBy("_key", "_seq_from")
    return [(row["_key"], row["name"], row["_closed_by"]) for row in rows.collect()]


def expected(records):
    (table,) = interpret(records).tables
    return [(v.key, v.row["name"], v.closed_by and v.closed_by.value) for v in table.versions]


def landed_file(tmp_path, before):
    """The one data file that landing has written since."""
    (new,) = data_files(tmp_path) - before
    return new


def data_files(tmp_path):
    return set((tmp_path / "shop" / "landing").rglob("*.parquet"))


@pytest.mark.heavy
@pytest.mark.parametrize("damage", [gone, corrupt])
def test_a_landing_file_that_cannot_be_read_holds_its_table_only_until_it_is_back(
    spark, capture, tmp_path, damage
):
    good, bad = stream(GOOD), stream(BAD)
    capture.land(good.records)
    before = data_files(tmp_path)
    capture.land(bad.records)
    repair = damage(landed_file(tmp_path, before))
    manifest = capture.manifest(1, [*good.records, *bad.records])
    receipts = {table.topic: table for table in done(spark, manifest).tables}
    assert receipts[GOOD].error is None
    assert receipts[BAD].error is not None
    assert receipts[BAD].history_version == -1
    repair()
    (caught_up,) = done(spark, capture.manifest(2, bad.records)).tables
    assert caught_up.error is None
    assert versions(spark, capture, GOOD) == expected(good.records)
    assert versions(spark, capture, BAD) == expected(bad.records)


@pytest.fixture
def overtake(tmp_path, monkeypatch):
    """Lets `meddle` happen in the middle of a write, between its look at the table and its commit.

    Where Spark writes, the rows are read only when somebody has meddled.
    """

    def overtake(owner, name, meddle):
        begun, ended = tmp_path / "begun", tmp_path / "ended"
        for pipe in (begun, ended):
            os.mkfifo(pipe)
        write = getattr(owner, name)

        def overtaken(*given, **options):
            monkeypatch.undo()
            if not any(isinstance(each, DataFrame | Replacement) for each in given):
                meddle()
                return write(*given, **options)
            threading.Thread(target=meddling, args=(meddle, begun, ended), daemon=True).start()
            return write(*(waited_for(each, begun, ended) for each in given), **options)

        monkeypatch.setattr(owner, name, overtaken)

    return overtake


def waited_for(given, begun, ended):
    """The same, with rows that are read only when somebody has meddled."""
    if isinstance(given, Replacement):
        return replace(given, rows=waited_for(given.rows, begun, ended))
    if isinstance(given, DataFrame):
        return given.coalesce(1).mapInArrow(waiting(begun, ended), given.schema)
    return given


def meddling(meddle, begun, ended):
    begun.read_bytes()
    try:
        meddle()
    finally:
        ended.write_bytes(b"done")


def waiting(begun, ended):
    """A pass over batches that waits for whoever meddles, the first time that it is made."""

    def passing(batches):
        if begun.exists():
            begun.write_bytes(b"now")
            ended.read_bytes()
            begun.unlink()
        yield from batches

    return passing


def test_a_commit_that_somebody_else_s_overtakes_is_made_anew(spark, capture, overtake):
    s = stream(GOOD)
    capture.land(s.records)
    done(spark, capture.manifest(1, s.records))
    news = more(s)
    capture.land(news)
    path = capture.lake.history(GOOD)
    overtake(
        replacement,
        "commit",
        lambda: spark.newSession().sql(
            f"ALTER TABLE delta.`{path}` SET TBLPROPERTIES ('somebody' = 'here')"
        ),
    )
    (table,) = done(spark, capture.manifest(2, news)).tables
    assert table.error is None
    assert versions(spark, capture, GOOD) == expected(s.records)


@pytest.mark.parametrize(
    ("run", "owner", "name"),
    [
        pytest.param(1, Kept, "add", id="first records"),
        pytest.param(1, history, "begin", id="first history", marks=pytest.mark.heavy),
        pytest.param(2, Kept, "add", id="more records", marks=pytest.mark.heavy),
        pytest.param(2, replacement, "commit", id="more history", marks=pytest.mark.heavy),
    ],
)
def test_of_two_processes_with_one_manifest_both_say_what_was_done_once(
    spark, capture, overtake, run, owner, name
):
    s = stream(GOOD)
    batches = [list(s.records), more(s)]
    for number, batch in enumerate(batches[:run], 1):
        capture.land(batch)
        if number < run:
            done(spark, capture.manifest(number, batch))
    manifest = capture.manifest(run, batches[run - 1])
    others = []
    overtake(owner, name, lambda: others.extend(done(spark, manifest).tables))
    (mine,) = done(spark, manifest).tables
    (other,) = others
    assert mine.error is None
    assert mine.counts.changes == len(batches[run - 1])
    assert replace(mine, seconds=0.0) == replace(other, seconds=0.0)
    assert versions(spark, capture, GOOD) == expected(s.records if run == 2 else batches[0])
    stored = delta.read(spark, capture.lake.records(GOOD)).count()
    assert stored == sum(map(len, batches[:run]))


@pytest.mark.heavy
def test_the_commit_of_a_zombie_is_refused_when_its_successors_have_made_theirs(
    spark, capture, overtake
):
    s = stream(GOOD)
    first = list(s.records)
    capture.land(first)
    manifest = capture.manifest(1, first)
    news = more(s)

    def succeed():
        done(spark, manifest)
        capture.land(news)
        done(spark, capture.manifest(2, news))

    overtake(history, "begin", succeed)
    (zombie,) = done(spark, manifest).tables
    assert (zombie.error, zombie.counts.changes) == (None, len(first))
    assert versions(spark, capture, GOOD) == expected(s.records)


def test_a_table_whose_rows_are_lost_before_its_commit_is_done_anew(spark, capture, monkeypatch):
    s = stream(GOOD)
    capture.land(s.records)
    done(spark, capture.manifest(1, s.records))
    news = more(s)
    capture.land(news)
    commit, lost = replacement.commit, []

    def committed(*given, **options):
        monkeypatch.undo()
        context = spark._jsc.sc()  # noqa: SLF001 - as when the executor is lost that has them
        lost.extend(spark._jsc.getPersistentRDDs())  # noqa: SLF001
        for rdd in lost:
            context.env().blockManager().master().removeRdd(rdd, True)
        commit(*given, **options)

    monkeypatch.setattr(replacement, "commit", committed)
    (table,) = done(spark, capture.manifest(2, news)).tables
    assert lost
    assert (table.error, table.counts.changes) == (None, len(news))
    assert versions(spark, capture, GOOD) == expected(s.records)


def test_a_table_that_is_overtaken_every_time_is_held_for_the_next_run(spark, capture, monkeypatch):
    s = stream(GOOD)
    capture.land(s.records)
    looks = []

    def refused(*_, **__):
        looks.append(1)
        raise OvertakenError("somebody was faster")

    monkeypatch.setattr(Kept, "add", refused)
    monkeypatch.setattr(attempts, "_LOOKS", 2)
    (held,) = done(spark, capture.manifest(1, s.records)).tables
    assert (held.error, held.transient) == ("somebody was faster", True)
    assert len(looks) == 2


def test_a_task_that_is_cleared_when_its_run_is_published_changes_nothing(spark, capture, tmp_path):
    s = stream(GOOD)
    capture.land(s.records)
    manifest = capture.manifest(1, s.records)
    receipt = write_manifest(manifest).replace("manifest.json", "receipt.json")
    (file,) = data_files(tmp_path)
    repair = gone(file)
    work_off(spark, manifest, receipt)
    assert Publications(capture.lake).publish(manifest, read_receipt(manifest))
    repair()
    work_off(spark, manifest, receipt)
    assert read_receipt(manifest).tables[0].error is not None
    assert not delta.exists(spark, capture.lake.records(GOOD))
    (caught_up,) = done(spark, capture.manifest(2, s.records)).tables
    assert caught_up.counts.changes == len(s.records)


@contextmanager
def full_disk(spark):
    """No file that the JVM writes may grow beyond some bytes, as if the disk had no more."""
    pid = spark._jvm.java.lang.ProcessHandle.current().pid()  # noqa: SLF001 - no other door
    soft, hard = resource.prlimit(pid, resource.RLIMIT_FSIZE)
    resource.prlimit(pid, resource.RLIMIT_FSIZE, (256, hard))
    try:
        yield
    finally:
        resource.prlimit(pid, resource.RLIMIT_FSIZE, (soft, hard))


@pytest.mark.heavy
def test_on_a_full_disk_a_table_is_held_and_the_next_run_applies_it(spark, capture):
    s = stream(GOOD)
    capture.land(s.records)
    done(spark, capture.manifest(1, s.records))
    before = versions(spark, capture, GOOD)
    news = more(s)
    capture.land(news)
    with full_disk(spark):
        (held,) = done(spark, capture.manifest(2, news)).tables
    assert (held.error is None, held.transient) == (False, True)
    assert versions(spark, capture, GOOD) == before
    (caught_up,) = done(spark, capture.manifest(3, news)).tables
    assert caught_up.error is None
    assert versions(spark, capture, GOOD) == expected(s.records)
