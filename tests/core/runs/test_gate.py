"""The gate: which expectations are not met, with the figure and the limit."""

import pytest

from strandline.runs.gate import Figures, Nulls, unmet
from strandline.runs.receipt import Counts
from strandline.sources.expectations import Expectations

TEN = Counts(landed=10, quarantined=1, history_rows=30, current_rows=10)
FIVE = Counts(landed=10, history_rows=30, current_rows=5)


def met(expected, **figures):
    return unmet(expected, Figures(**{"published": TEN, "now": TEN, **figures})) == ()


@pytest.mark.parametrize(
    ("expected", "figures", "said"),
    [
        (
            Expectations(max_vanished=0.4),
            {"now": FIVE},
            "max_vanished is 40%, and the current rows are 50% fewer (10 are published, 5 are left",
        ),
        (
            Expectations(max_quarantined=0.05),
            {},
            "max_quarantined is 5%, and of 10 records since the last publication 1 (10%) are in",
        ),
        (Expectations(min_rows=11), {}, "min_rows is 11, and there are 10 current rows"),
        (Expectations(max_rows=9), {}, "max_rows is 9, and there are 10 current rows"),
        (
            Expectations(max_nulls={"name": 0.25}),
            {"nulls": Nulls({"name": 3}, ("id", "name"))},
            "max_nulls of column 'name' is 25%, and 3 of 10 current rows (30%) are NULL there",
        ),
        (
            Expectations(max_nulls={"nmae": 0.25}),
            {"nulls": Nulls({}, ("id", "name"))},
            "max_nulls names the column 'nmae', which the history has not; the closest of 2",
        ),
        (
            Expectations(max_nulls={"name": 0.25}),
            {"nulls": Nulls(unread="TypeWidening is not known")},
            "max_nulls cannot be asked for (TypeWidening is not known): take it out of the source",
        ),
    ],
)  # fmt: skip
def test_what_is_not_as_expected_is_named_with_its_figure_and_its_limit(expected, figures, said):
    (clause,) = unmet(expected, Figures(**{"published": TEN, "now": TEN, **figures}))
    assert clause.startswith(said)


def test_a_figure_that_is_at_its_limit_is_as_expected():
    expected = Expectations(0.5, 0.1, min_rows=10, max_rows=10, max_nulls={"name": 0.3})
    assert met(expected, nulls=Nulls({"name": 3}, ("name",)))
    assert met(Expectations(max_vanished=0.5), now=FIVE)


def test_where_nothing_is_published_or_no_row_was_current_none_can_vanish():
    empty = Counts(history_rows=3)
    assert met(Expectations(max_vanished=0), published=None)
    assert met(Expectations(max_vanished=0), published=empty, now=empty)


def test_a_table_without_current_rows_has_no_nulls():
    expected = Expectations(max_nulls={"name": 0})
    assert met(expected, now=Counts(), nulls=Nulls({"name": 0}, ("name",)))


def test_all_that_is_not_as_expected_is_said():
    expected = Expectations(max_vanished=0.1, min_rows=6, max_rows=4)
    clauses = unmet(expected, Figures(TEN, FIVE))
    assert [clause.split(" ")[0] for clause in clauses] == ["max_vanished", "min_rows", "max_rows"]
