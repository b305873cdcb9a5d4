"""`erase__SOURCE`: a person's rows, searched for in the bytes of the lake afterwards."""

from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime
from pathlib import Path

import pyarrow.parquet as pq
import pytest
from strandline_airflow.forms import erase
from strandline_airflow.runs import compact_run

from strandline.errors import SpecError, Terminal

pytestmark = pytest.mark.heavy

SECRETS = ("Wilhelmina", "Theodora", "987654")


@pytest.fixture(scope="module")
def erased(shop):
    """Somebody who moved twice, somebody else, and a record of hers that could not be read."""
    stream = shop.stream
    stream.change("c", 987654, 10, name="Wilhelmina")
    stream.change("c", 2, 12, name="bob")
    shop.arrive()
    stream.change("u", 987654, 20, name="Theodora")
    stream.change("d", 987654, 30, newkey=7, before={"id": 987654, "name": "Theodora"})
    stream.tombstone(987654)
    stream.change("c", 7, 30, name="Theodora", oldkey=987654)
    bad = stream.change("u", 7, 40, name="Theodora")
    stream.records[-1] = type(bad)(
        bad.at, bad.timestamp, bad.key, bad.value.replace(b'"u"', b'"x"')
    )
    shop.arrive()
    shop.before = shop.history()
    shop.planned = shop.trigger("erase", dry_run=True, table="public.item", keys=["7"])
    shop.found_before = found(shop)
    shop.states = shop.trigger("erase", dry_run=False, table="public.item", keys=["7"])
    return shop


def found(shop):
    """Which of the secrets are anywhere in the lake's files, current or not."""
    text = ""
    for file in Path(shop.lake.home).rglob("*"):
        if file.suffix == ".parquet":
            text += str(pq.read_table(file).to_pylist())
        elif file.is_file():
            text += file.read_bytes().decode(errors="replace")
    return [secret for secret in SECRETS if secret in text]


def test_before_it_everything_is_there_and_a_dry_run_leaves_it(erased):
    assert len(erased.before) == 4
    assert set(erased.planned.values()) == {"skipped"}
    assert erased.found_before == list(SECRETS)


def test_neither_she_nor_any_key_she_had_is_found_in_any_file_of_the_lake(erased):
    assert set(erased.states.values()) == {"success"}
    assert found(erased) == []


def test_everybody_else_stays(erased):
    assert erased.history() == ["2: bob"]
    assert len(erased.rows(erased.lake.landing)) == 1
    counts = erased.published().counts
    assert (counts.history_rows, counts.current_rows) == (1, 1)


def test_later_runs_go_on_and_offsets_stay_where_they_were(erased):
    erased.stream.change("u", 2, 50, name="eve")
    erased.arrive()
    assert erased.history() == ["2: bob|update", "2: eve"]
    assert erased.published().counts.history_rows == 2


def test_erasing_again_finds_nothing_and_changes_nothing(erased):
    receipt = erased.order(erase.FORM, dry_run=False, table="public.item", keys=["7"])
    assert (receipt.did["history"], receipt.did["landing"]) == (0, 0)
    assert erased.history() == ["2: bob|update", "2: eve"]


@pytest.mark.parametrize(
    ("given", "says"),
    [
        ({"table": "", "keys": ["1"]}, "name the table"),
        ({"table": "public.item", "keys": []}, "at least one of its keys"),
        ({"table": "public.itme", "keys": ["1"]}, "has no table 'public.itme'"),
        ({"table": "public.item", "keys": ['{"nr": 1}']}, "the key is made of id"),
    ],
)
def test_what_cannot_be_erased_says_what_to_write(erased, given, says):
    with pytest.raises(SpecError, match=says):
        erased.order(erase.FORM, dry_run=False, **given)


def test_records_that_wait_to_be_applied_are_applied_first(erased):
    erased.stream.change("u", 2, 60, name="zoe")
    erased.land()
    with pytest.raises(Terminal, match=r"1 offsets of shop\.public\.item .* let compact__shop"):
        erased.order(erase.FORM, dry_run=False, table="public.item", keys=["2"])


def test_what_is_landed_beside_it_stays(erased):
    erased.arrive()
    erased.stream.change("c", 3, 70, name="ivy")
    with ThreadPoolExecutor() as beside:
        order = {"dry_run": False, "table": "public.item", "keys": ["2"]}
        erasing = beside.submit(erased.order, erase.FORM, **order)
        erased.land()
        assert erasing.result().did["history"] == 3
    erased.work_off(compact_run.plan(erased.source, datetime.now(UTC)))
    assert erased.history() == ["3: ivy"]
    assert [row["offset"] for row in erased.rows(erased.lake.landing)] == [
        len(erased.stream.records) - 1
    ]


def test_one_that_finds_something_afterwards_publishes_the_version_that_is_left(erased):
    kept = Path(erased.lake.history("public.item"), "_kept-aside.parquet")  # as VACUUM spares it
    kept.write_bytes(b"somebody's copy")
    states = erased.trigger("erase", dry_run=False, table="public.item", keys=["3"])
    assert "failed" in states.values()
    row = erased.published()
    assert "is found: history/_kept-aside.parquet. Keep other" in row.error
    assert erased.history(row.history_version) == []
    kept.unlink()
    states = erased.trigger("erase", dry_run=False, table="public.item", keys=['{"id": 3}'])
    assert set(states.values()) == {"success"}
