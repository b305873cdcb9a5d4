"""Which keys a run takes the short way with: those whose deliveries are their changes."""

from dataclasses import dataclass, replace

import pytest
from pyspark.sql import functions as F
from strandline_spark import heads, orderly, settings
from strandline_spark.orderly import Latest

COLUMNS = (
    "_key STRING, _op STRING, _seq STRING, _topic_id STRING, _partition INT, _offset BIGINT, "
    "_kind STRING, _in_flight BOOLEAN, _identity BIGINT, _unset ARRAY<STRING>, _tx_id STRING, "
    "_run INT"
)


@dataclass(frozen=True)
class Record:
    op: str
    at: int  # its position; a tombstone has none
    offset: int
    partition: int = 0
    topic_id: str = "T"
    kind: str = "row"
    in_flight: bool = False
    identity: int | None = None
    unset: tuple[str, ...] = ()
    tx: str | None = None
    run: int = 1

    def row(self, key):
        seq = "" if self.op == "tombstone" else place(self.at, self.offset, self.partition)
        identity = self.at if self.identity is None else self.identity
        return (key, self.op, seq, self.topic_id, self.partition, self.offset, self.kind,
                self.in_flight, identity, list(self.unset), self.tx, self.run)  # fmt: skip


def place(at, offset=0, partition=0):
    return f"0000{at:032x}0{offset:011x}{partition:04x}"


C, U, D, T = Record("c", 1, 1), Record("u", 2, 2), Record("d", 3, 3), Record("tombstone", 0, 4)

ORDERLY = {
    "one record": (U,),
    "a row's life, its tombstone behind its delete": (C, U, D, T),
    "the row begins again after its delete": (C, D, T, Record("c", 9, 9)),
    "a snapshot's read and a change of it": (Record("r", 1, 1), U),
    "columns are left out": (C, replace(U, unset=("note",))),
    "another record of the transaction": (replace(C, tx="7"), replace(U, tx="7")),
}
NOT = {
    "the place of one before it": (C, replace(U, at=1)),
    "positions go back": (replace(C, at=5), U),
    "sent again at another position": (C, replace(U, identity=1)),
    "two partitions": (C, replace(U, partition=1)),
    "two incarnations of the topic": (C, replace(U, topic_id="U")),
    "a tombstone alone": (T,),
    "a tombstone behind no delete": (C, replace(T, offset=2)),
    "two tombstones": (C, D, T, replace(T, offset=5)),
    "a row that moved": (C, replace(D, kind="move")),
    "open at the start": (replace(C, in_flight=True), U),
    "a row that the source lacks": (Record("absent", 3, 3),),
    "a correction that no record of the run says": (replace(Record("r", 3, 3), run=-1),),
    "taken over inside one transaction": (replace(C, tx="7"), replace(D, tx="7")),
}


@pytest.fixture(scope="module")
def found(spark):
    records = {**ORDERLY, **NOT}
    rows = [each.row(key) for key, sent in records.items() for each in sent]
    keys = orderly.by_key(spark.createDataFrame(rows, COLUMNS), 1, shifts=True)
    return {row["_key"]: row for row in keys.collect()}


def test_what_comes_sorted_by_key_is_not_sorted_once_more_to_tell_the_keys(spark):
    batch = spark.createDataFrame([C.row("a key")], COLUMNS)
    whole = {"spark.sql.maxPlanStringLength": "100000"}
    with settings.during(spark, {**orderly.SETTINGS, **whole}):
        keys = orderly.by_key(batch, 1, shifts=True)
        plan = keys._jdf.queryExecution().executedPlan().toString()  # noqa: SLF001
    assert "SortAggregate" in plan
    assert plan.count("Sort [") == 1


@pytest.mark.parametrize("key", ORDERLY)
def test_a_key_is_orderly_that_came_as_the_log_has_it(found, key):
    assert found[key]["_orderly"]


@pytest.mark.parametrize("key", NOT)
def test_a_key_is_not_orderly_that_has(found, key):
    assert not found[key]["_orderly"]


def test_tombstones_are_no_changes(found):
    key = "a row's life, its tombstone behind its delete"
    assert (found[key]["changes"], found[key]["first"]) == (3, place(1, 1))


def test_a_key_of_too_many_records_to_compare_is_not_orderly(spark, monkeypatch):
    monkeypatch.setattr(orderly, "_MOST", 1)
    keys = of_first_run(spark, Latest(), "one record", "a snapshot's read and a change of it")
    assert (keys.count, keys.orderly) == (2, 1)


def of_first_run(spark, latest, *keys):
    rows = [each.row(key) for key in keys for each in ORDERLY[key]]
    return heads.of_first_run(spark.createDataFrame(rows, COLUMNS), 1, None, latest, shifts=True)


@pytest.mark.parametrize(
    ("latest", "expected"),
    [
        (Latest(), 1),
        (Latest(sweep=place(2)), 1),
        (Latest(sweep=place(2, 3)), 0),
        (Latest(truncate=f"0000{1:032x}"), 1),
        (Latest(truncate=f"0000{2:032x}"), 0),
        (None, 0),
    ],
)
def test_a_key_is_orderly_behind_the_last_fence_only(spark, latest, expected):
    assert of_first_run(spark, latest, "one record").orderly == expected


def test_the_last_fences_are_those_of_each_kind(spark):
    fences = spark.createDataFrame(
        [(place(3), True, None), (place(9), False, None), (place(7), False, None)],
        "_seq STRING, _sweep BOOLEAN, _local STRING",
    )
    assert orderly.latest(fences) == Latest(place(3), f"0000{9:032x}")
    assert orderly.latest(None) == Latest()


def test_a_truncate_with_a_place_for_each_key_stands_behind_nothing_for_all(spark):
    fences = spark.createDataFrame(
        [(place(3), False, "1@tablet")], "_seq STRING, _sweep BOOLEAN, _local STRING"
    )
    assert orderly.latest(fences) is None


def test_rows_go_the_way_of_their_keys(spark):
    keys = of_first_run(
        spark, Latest(sweep=place(2)), "one record", "a snapshot's read and a change of it"
    )
    rows = keys.rows.select("_key").withColumn("row", F.lit(1))
    short, long = (
        [row["_key"] for row in keys.of(rows, orderly=way).collect()] for way in (True, False)
    )
    assert short == ["one record"]
    assert long == ["a snapshot's read and a change of it"]


@pytest.mark.parametrize(("stands", "expected"), [(True, 0), (False, 1)])
def test_behind_a_truncate_a_key_is_orderly_whose_row_had_ended_there(spark, stands, expected):
    truncate = place(5)
    head = spark.createDataFrame(
        [("k", True, stands, None, place(1), place(1) if stands else truncate)],
        "_key STRING, _is_head BOOLEAN, _is_current BOOLEAN, _tx_id STRING, _seq_from STRING, "
        "_seq_seen STRING",
    )
    batch = spark.createDataFrame([Record("c", 9, 9).row("k")], COLUMNS)
    latest = Latest(truncate=truncate[:-16])
    standing = heads.Standing(head, head, None, None, None, shifts=False, latest=latest)
    found = heads.touched(batch, 1, standing)
    assert (found.count, found.rederived, found.orderly) == (1, 0, expected)
