"""The generator's records mean what its reference says: the law folds them to the same."""

from collections import Counter
from datetime import UTC, datetime, timedelta

import numpy as np
import pytest

from bench.cases import landed, reference
from bench.cases.columns import COLUMNS
from bench.cases.stream import TRUNCATE, Batch, Shape, stream
from strandline.changes.record import Coordinates, Record
from strandline.changes.rules import TableRules
from strandline.connectors import CONNECTORS
from strandline.law import interpret

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
BATCHES = (
    Batch(60, inserts=0.1, late=0.1, duplicates=0.2),
    Batch(60, late=0.2, duplicates=0.1, truncates=2),
)
RULES = TableRules(columns=tuple((column.name, column.contract) for column in COLUMNS))


def shape(**fields):
    return Shape(**{"keys": 20, "batches": BATCHES, "base": 200, "deletes": 0.1, **fields})


def landed_records(folder, of):
    """The records of the landing table in the order of their offsets."""
    changes = stream(of)
    arrived = landed.arrival(changes, of, 0)
    landed.land(folder, [("orders", changes, arrived)], of)
    rows = landed.DeltaTable(str(folder)).to_pyarrow_table().to_pylist()
    rows.sort(key=lambda row: (row["partition"], row["offset"]))
    return changes, [
        Record(
            Coordinates(row["topic"], row["partition"], row["offset"]),
            int(row["timestamp"].timestamp() * 1000),
            row["key"],
            row["value"],
            tuple((header["key"], header["value"]) for header in row["headers"]),
        )
        for row in rows
    ]


@pytest.mark.parametrize("extreme", [{"letters": 5_000}, {"transaction": 10_000}, {"keys": 1}])
def test_the_law_gives_the_expected_history_of_extremes(tmp_path, extreme):
    of = shape(**extreme)
    changes, records = landed_records(tmp_path / "landing", of)
    outcome = interpret(records, CONNECTORS["postgresql"], EPOCH, lambda _: RULES)
    found = [told(version) for version in outcome.tables[0].versions]
    expected = reference.history(changes, len(BATCHES)).table().to_pylist()
    assert sorted(found, key=repr) == sorted(expected, key=repr)
    longest = max(len(record.value or b"") for record in records)
    assert (longest > 5_000) == ("letters" in extreme)


@pytest.mark.parametrize("schemas", [False, True])
@pytest.mark.parametrize("seed", range(5))
def test_the_law_gives_the_expected_history(tmp_path, schemas, seed):
    of = shape(moves=0.05, schemas=schemas, seed=seed)
    changes, records = landed_records(tmp_path / "landing", of)
    outcome = interpret(records, CONNECTORS["postgresql"], EPOCH, lambda _: RULES)
    assert not outcome.quarantined
    assert outcome.counts.conserved
    found = [told(version) for version in outcome.tables[0].versions]
    expected = reference.history(changes, len(BATCHES)).table().to_pylist()
    assert sorted(found, key=repr) == sorted(expected, key=repr)


def told(version):
    micros = [version.valid_from, version.valid_to]
    start, end = (m and (m - EPOCH) // timedelta(microseconds=1) for m in micros)
    meta = {"valid_from": start, "valid_to": end, "is_current": end is None}
    return {**version.row, **meta, "closed_by": version.closed_by and version.closed_by.value}


@pytest.mark.parametrize("base", [20, 200])
def test_histories_of_any_length_have_the_same_keys(base):
    changes = stream(shape(base=base, batches=()))
    assert set(changes.key) == set(range(20))


@pytest.mark.parametrize("batch", [1, 2])
def test_what_a_batch_changed_is_what_differs_from_before(batch):
    changes = stream(shape(moves=0.05))
    before, after = (
        Counter(map(repr, reference.history(changes, each).table().to_pylist()))
        for each in (batch - 1, batch)
    )
    found = Counter(map(repr, reference.changed(changes, batch).table().to_pylist()))
    assert found == after - before


def test_a_shape_gives_the_same_bytes_every_time(tmp_path):
    first, second = (landed_records(tmp_path / name, shape())[1] for name in ("a", "b"))
    assert first == second


def test_each_batch_brings_what_its_shape_says():
    changes = stream(shape())
    fences = changes.batch[changes.op == TRUNCATE]
    assert fences.tolist() == [2, 2]
    late = [int((changes.batch[:200] == batch).sum()) for batch in (1, 2)]
    assert late == [6, 12]
    assert np.bincount(changes.batch[200:]).tolist() == [0, 60, 60]


def test_offsets_count_up_in_each_partition_over_all_batches():
    of = shape()
    arrived = landed.arrival(stream(of), of, 0)
    for partition in range(of.partitions):
        own = arrived.partition == partition
        assert arrived.offset[own].tolist() == list(range(own.sum()))
        assert (np.diff(arrived.batch[own]) >= 0).all()
