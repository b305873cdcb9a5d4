"""`replay__SOURCE`: a table whose records were read with the wrong rules, and the right ones."""

import pytest
from deltalake import DeltaTable
from strandline_airflow.forms import replay

from strandline.errors import SpecError

pytestmark = pytest.mark.heavy

NARROWED = '[[table]]\ntopic = "shop.public.item"\nname = "public.item"\nignore = ["bio"]\n'


@pytest.fixture(scope="module")
def replayed(shop):
    """Versions for a column that nobody wants tracked; then the source file says so."""
    stream = shop.stream
    stream.change("c", 1, 10, name="ada", bio="a")
    stream.change("u", 1, 20, name="ada", bio="b")
    shop.arrive()
    stream.change("u", 1, 30, name="bob", bio="c")
    stream.add(b"{}", b"no json")
    shop.arrive()
    shop.before = shop.history(), shop.published()
    shop.same = shop.order(replay.FORM, dry_run=False)
    shop.says(NARROWED)
    shop.compared = shop.order(replay.FORM, dry_run=False)
    shop.untouched = shop.history()
    shop.planned = shop.trigger("replay", dry_run=True, swap=True)
    shop.states = shop.trigger("replay", dry_run=False, swap=True)
    shop.swapped = shop.history(), shop.published()
    return shop


def test_a_dry_run_plans_and_changes_nothing(replayed):
    assert set(replayed.planned.values()) == {"skipped"}


def test_what_is_rebuilt_by_the_same_rules_is_the_same(replayed):
    assert replayed.same.did == {
        "equal": 3, "different": 0, "only in the old": 0, "only in the new": 0
    }  # fmt: skip


def test_comparing_alone_tells_the_difference_and_replaces_nothing(replayed):
    assert replayed.compared.did["only in the old"] == 1
    assert not replayed.compared.changed
    assert replayed.untouched == replayed.before[0] == ["1: ada|update", "1: ada|update", "1: bob"]


def test_a_swap_is_one_commit_of_the_history_and_one_publication(replayed):
    assert set(replayed.states.values()) == {"success"}
    history, row = replayed.swapped
    assert history == ["1: ada|update", "1: bob"]
    assert row.changed
    assert (row.counts.history_rows, row.counts.current_rows) == (2, 1)
    assert row.history_version == replayed.before[1].history_version + 1


def test_a_swap_leaves_offsets_and_the_number_of_quarantined_records_as_they_were(replayed):
    assert replayed.swapped[1].applied == replayed.before[1].applied
    assert len(replayed.rows(replayed.lake.quarantine)) == 1


def test_later_runs_go_on_from_what_was_swapped_in(replayed):
    replayed.stream.change("u", 1, 40, name="bob", bio="d")
    replayed.stream.change("u", 1, 15, name="late", bio="x", partition=1)
    replayed.arrive()
    assert replayed.history() == ["1: ada|update", "1: late|update", "1: ada|update", "1: bob"]
    assert replayed.published().counts.history_rows == 4


def test_undoing_brings_back_what_was_there_and_the_next_run_what_came_since(replayed):
    replayed.order(replay.FORM, dry_run=False, undo=replayed.swapped[1].number)
    assert replayed.history() == replayed.before[0]
    assert replayed.published().applied == replayed.before[1].applied
    replayed.arrive()
    assert [row.split("|")[0] for row in replayed.history()] == [
        "1: ada", "1: late", "1: ada", "1: bob"
    ]  # fmt: skip
    assert len(replayed.rows(replayed.lake.quarantine)) == 1


def test_a_run_that_swapped_nothing_cannot_be_taken_back(replayed):
    with pytest.raises(SpecError, match="run 1 of shop swapped nothing"):
        replayed.order(replay.FORM, dry_run=False, undo=1)


def test_records_that_landing_no_longer_has_are_not_lost_by_a_replay(replayed):
    story = replayed.history()
    DeltaTable(replayed.lake.landing).delete('"offset" = 0')
    with pytest.raises(Exception, match="landing no longer has"):
        replayed.order(replay.FORM, dry_run=False, swap=True)
    assert replayed.history() == story
