"""A column whose type changes to one that holds none of the old values, and what its error asks."""

import pytest
from samples.events import COLUMNS
from strandline_airflow.forms import replay

pytestmark = pytest.mark.heavy

FIRST = {"type": "int64", "optional": True, "field": "n"}
NOW = {"type": "string", "optional": True, "field": "n"}
CONTRACT = (
    '[[table]]\ntopic = "shop.public.item"\nname = "public.item"\ncolumns = { n = "string" }\n'
)


@pytest.fixture(scope="module")
def retyped(shop):
    """Numbers, then one more number and a text in one run; then the source file as told."""
    stream = shop.stream
    stream.columns = [*COLUMNS, FIRST]
    stream.change("c", 1, 10, name="ada", more={"n": 5})
    shop.arrive()
    stream.change("u", 1, 20, name="ada", more={"n": 6})
    stream.columns = [*COLUMNS, NOW]
    stream.change("u", 1, 30, name="ada", more={"n": "six"})
    with pytest.raises(Exception) as told:  # noqa: PT011 - its words are what is tested
        shop.arrive()
    shop.told = str(told.value)
    shop.says(CONTRACT)
    shop.rebuilt = shop.order(replay.FORM, dry_run=False, swap=True)
    shop.arrive()
    return shop


def test_the_error_says_what_to_declare_and_what_to_run(retyped):
    assert 'declare n = "string"' in retyped.told
    assert "replay__SOURCE" in retyped.told


def test_a_replay_finds_the_same_values_in_another_type(retyped):
    found = retyped.rebuilt.did
    assert (found["equal"], found["different"]) == (1, 0)
    assert (found["only in the old"], found["only in the new"]) == (0, 0)


def test_what_waited_is_applied_to_the_table_of_texts(retyped):
    rows = retyped.rows(retyped.lake.history("public.item"))
    assert [row["n"] for row in sorted(rows, key=lambda r: r["_seq_from"])] == ["5", "6", "six"]
    assert retyped.published().error is None
