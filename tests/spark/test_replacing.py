"""What a run takes away from a history, and by which operation of Delta."""

from dataclasses import dataclass
from pathlib import Path

import pyarrow.parquet as pq
import pytest
from delta.tables import DeltaTable
from strandline_spark import apply, delta, settings, small
from strandline_spark.heads import Touched

from strandline.runs.receipt import Counts

KEYS = "_key STRING, _rederive BOOLEAN, _orderly BOOLEAN, changes BIGINT, partial BOOLEAN"
VERSIONS = "_key STRING, _seq_from STRING, _is_head BOOLEAN, _is_current BOOLEAN, name STRING"
ADAPTIVE = "spark.sql.adaptive.enabled"
AGAIN, APPENDED, OTHER = "again", "appended", "other"


def life(key, *begins, name="old"):
    """Versions of a key, of which the last is open."""
    return [(key, at, at == begins[-1], at == begins[-1], name) for at in begins]


BEFORE = [*life(AGAIN, "2", "4", "6"), *life(APPENDED, "1", "5"), *life(OTHER, "3", "7")]
# The head of a key that is appended to comes again, closed.
GROWN = [(APPENDED, "5", False, False, "closed"), (APPENDED, "8", True, True, "new")]
LEFT = [*life(OTHER, "3", "7"), (APPENDED, "1", False, False, "old"), *GROWN]


@dataclass
class History:
    """A history that stands, and what replacing does to it."""

    spark: object
    path: str

    def replaced(self, versions):
        """What is there afterwards, and the operation that did it."""
        self._replace(versions)
        rows = delta.read(self.spark, self.path).collect()
        operation = DeltaTable.forPath(self.spark, self.path).history(1).first()["operation"]
        return sorted(map(tuple, rows)), operation

    def _replace(self, versions):
        standing = delta.read(self.spark, self.path)
        former = standing.where(f"_key = '{AGAIN}'").select("_key", "_seq_from", "_is_current")
        rows = [(AGAIN, True, False, 1, False), (APPENDED, False, False, 1, False)]
        keys = Touched(
            self.spark.createDataFrame(rows, KEYS),
            count=2,
            orderly=0,
            changes=0,
            partial=False,
            rederived=1,
            old=standing,
            gone=Counts(),
            former=former,
        )
        apply.replace(self.spark.createDataFrame(versions, VERSIONS), keys, self.path)


@pytest.fixture
def history(spark, tmp_path):
    path = tmp_path.as_posix()
    apply.append(spark.createDataFrame(BEFORE, VERSIONS), path)
    return History(spark, path)


@pytest.mark.parametrize("begins", [("2", "3", "9"), ("1", "9"), ("2",)])
def test_a_key_that_begins_no_later_than_before_is_replaced_in_one_pass(history, begins):
    new = life(AGAIN, *begins, name="new")

    assert history.replaced([*new, *GROWN]) == (sorted([*LEFT, *new]), "WRITE")


def test_a_history_is_looked_through_by_a_plan_that_may_change_however_few_changes_came(
    history, monkeypatch
):
    seen, spark = [], history.spark
    monkeypatch.setattr(apply, "_replace", lambda *_: seen.append(spark.conf.get(ADAPTIVE)))

    with settings.during(spark, small.SETTINGS):
        history.replaced([*life(AGAIN, "2", "9"), *GROWN])
        seen.append(spark.conf.get(ADAPTIVE))

    assert seen == ["true", "false"]


def test_of_a_key_that_begins_later_than_before_the_first_version_goes_too(history):
    new = life(AGAIN, "4", "6", name="new")

    assert history.replaced([*new, *GROWN]) == (sorted([*LEFT, *new]), "MERGE")


def test_of_a_key_that_never_was_everything_goes(history):
    assert history.replaced(GROWN) == (sorted(LEFT), "MERGE")


def test_versions_are_compressed_as_what_was_landed_is(history):
    files = [pq.ParquetFile(file) for file in Path(history.path).glob("_is_head=*/*.parquet")]
    assert {file.metadata.row_group(0).column(0).compression for file in files} == {"ZSTD"}
