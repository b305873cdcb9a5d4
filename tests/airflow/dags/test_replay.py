"""What `replay__SOURCE` makes of its form, before anything is rebuilt."""

from datetime import timedelta

import pytest
from stages.page_stage import NOON
from strandline_airflow.forms import replay

from strandline.errors import SpecError
from strandline.runs.manifest import Work
from strandline.runs.receipt import Counts, Receipt, TableReceipt


@pytest.fixture
def order(source):
    """The order of a form; fields that are not given have their defaults."""

    def order(**given):
        params = {name: param.resolve() for name, param in replay.FORM.params.items()}
        return replay.order(source, {**params, **given}, NOON)

    return order


@pytest.fixture
def swapped(source, order, manifests, publications, arrive, publish):
    """Two published tables, of which run 2 has swapped one and run 3 has compared both."""
    for topic in ("shop.orders", "shop.items"):
        arrive(topic, 1)
    publish(orders={"history_version": 0}, items={"history_version": 0})
    for hours, given in ((1, {"tables": ["orders"], "swap": True}), (2, {})):
        at = (NOON + timedelta(hours=hours)).isoformat()
        made = manifests.order(source, at, order(**given))
        done = (TableReceipt(t.table, t.topic, Counts(), history_version=0) for t in made.tables)
        publications.publish(made, Receipt(made.source, made.number, tuple(done)))


def refusal(order, **given):
    with pytest.raises(SpecError) as refused:
        order(**given)
    return str(refused.value)


@pytest.mark.usefixtures("swapped")
@pytest.mark.parametrize("tables", [[], ["orders"]])
def test_a_swap_is_taken_back_as_far_as_it_went(order, tables):
    made = order(undo=2, tables=tables)
    assert made.work is Work.UNDO
    assert [cut.table for cut in made.tables] == ["orders"]


@pytest.mark.usefixtures("swapped")
def test_a_table_that_the_run_did_not_swap_is_refused_with_those_that_it_did(order):
    told = "run 2 of shop did not swap items: it swapped orders"
    assert refusal(order, undo=2, tables=["items"]) == told
    assert refusal(order, undo=2, tables=["orders", "items"]) == told


@pytest.mark.usefixtures("swapped")
def test_a_swap_and_its_undoing_are_not_one_order(order):
    assert "leave 'swap' unticked" in refusal(order, undo=2, swap=True)


@pytest.mark.usefixtures("swapped")
@pytest.mark.parametrize("number", [1, 3, 4])
def test_a_run_that_swapped_nothing_cannot_be_taken_back(order, number):
    assert f"run {number} of shop swapped nothing" in refusal(order, undo=number)
