"""What `erase__SOURCE` makes of its form, before anything is erased."""

from dataclasses import replace

import pyarrow as pa
import pytest
from deltalake import write_deltalake
from stages.page_stage import NOON
from strandline_airflow.forms import erase

from strandline.errors import SpecError
from strandline.runs.erasure import digest

pytestmark = pytest.mark.usefixtures("published")


@pytest.fixture
def order(source):
    """The order of a form that names keys of table `orders`."""

    def order(*keys):
        return erase.order(source, {"table": "orders", "keys": list(keys)}, NOON)

    return order


@pytest.fixture
def stored():
    """Writes a row of keys into a store."""

    def write(path, **columns):
        texts = {name: pa.array([value], pa.string()) for name, value in columns.items()}
        write_deltalake(path, pa.table(texts), mode="append")

    return write


def refusal(order, *keys):
    with pytest.raises(SpecError) as refused:
        order(*keys)
    return str(refused.value)


def test_keys_in_any_spelling_are_digests_in_the_order_and_named_nowhere(order):
    made = order("1", '{ "id": 9 }', '{"id":2}')
    assert set(made.options["digests"]) == {digest(f'{{"id":{key}}}') for key in (1, 2, 9)}
    assert made.lines[0] == "orders: 3 keys with 4 versions, 1 of them current"
    assert not [line for line in made.lines if "9" in line]


def test_a_key_that_is_written_twice_is_one(order):
    assert order("2", '{"id": "2"}').lines[0] == "orders: 1 key with 1 version, 0 of them current"


def test_keys_that_moves_link_are_counted_with_those_of_the_form_and_apart(order, lake, stored):
    stored(lake.records("orders"), entry_key='{"id":9}', entry_other='{"id":70}', entry_link=None)
    stored(lake.quarantine, table="orders", record_key='{"id":70}')
    assert order("1").lines[:4] == (
        "orders: 3 keys with 3 versions, 1 of them current",
        "of these the form names 1 key with 2 versions, 0 of them current",
        "of these moves link 2 keys to them, with 1 version, 1 of them current",
        "of their records 1 is on record and 1 in quarantine; what landed of them goes, too",
    )


@pytest.mark.parametrize("key", ["Wilhelmina", "[1]", '{"id": {"id": 1}}'])
def test_a_value_of_the_wrong_kind_is_told_by_its_place_and_never_shown(order, key):
    assert refusal(order, "1", key) == (
        "key 2 of the form: 'id' of the key must be a number; write the key as {\"id\":5}"
    )


def test_keys_that_no_store_knows_are_refused_by_their_places(order):
    told = refusal(order, "77", "1", "987654")
    assert told.startswith("orders knows nothing of keys 1, 3 of the form: nothing was erased")
    assert "*Strandline*" in told
    assert "77" not in told
    assert "987654" not in told


def test_a_key_without_versions_is_erased_from_wherever_else_it_is(order, lake, stored):
    stored(lake.changes("orders"), _key='{"id":50}', _moved_from=None, _moved_to='{"id":51}')
    stored(lake.deleted_keys("orders"), _key='{"id":52}')
    stored(lake.moves("orders"), _old='{"id":53}', _new='{"id":54}')
    stored(lake.differences, table="orders", key='{"id":55}')
    stored(lake.records("orders"), entry_key='{"id":56}', entry_other='{"id":57}', entry_link=None)
    keys = [str(key) for key in range(50, 58)]
    made = order("1", *keys)
    assert len(made.options["digests"]) == 9
    assert (
        "there is no version of keys 2, 3, 4, 5, 6, 7, 8, 9 of the form, only other records"
        in made.lines
    )


def test_a_key_of_which_everything_is_in_quarantine_can_be_erased(order, lake, stored):
    stored(lake.quarantine, table="orders", record_key='{"id":60}')
    assert "there is no version of key 1 of the form, only other records" in order("60").lines
    stored(lake.quarantine, table="items", record_key='{"id":61}')
    assert "knows nothing of key 1 of the form" in refusal(order, "61")


def test_a_key_that_was_erased_before_can_be_erased_again(order, source, manifests):
    """That run may have found a file that it could not delete: it says to trigger it again."""
    once = replace(order("9"), options={"digests": [digest('{"id":70}')]})
    manifests.order(source, NOON.isoformat(), once)
    assert order("70").lines[0] == "orders: 1 key with 0 versions, 0 of them current"


def test_a_key_from_before_its_column_was_widened_is_found_as_the_page_shows_it(order, lake):
    never = pa.nulls(2, pa.string())
    keys = ['{"id":"7.00"}', '{"id":5}']
    ended = pa.array([False, False])
    rows = pa.table({
        "_key": keys, "_moved_from": never, "_moved_to": never, "_is_current": ended
    })  # fmt: skip
    write_deltalake(lake.history("orders"), rows, mode="overwrite", schema_mode="overwrite")
    assert order('{"id":5}').lines[0] == "orders: 1 key with 1 version, 0 of them current"
    assert order('{"id":"7.00"}').lines[0] == "orders: 1 key with 1 version, 0 of them current"


def test_a_table_whose_history_is_empty_still_gives_up_what_its_changes_have(
    order, lake, history, stored
):
    history()
    stored(lake.changes("orders"), _key='{"id":50}', _moved_from=None, _moved_to=None)
    assert order("50").lines[0] == "orders: 1 key with 0 versions, 0 of them current"


def test_an_erasure_that_left_a_table_no_key_is_repeated_with_its_keys_as_json(
    order, source, manifests, history
):
    once = replace(order("9"), options={"digests": [digest('{"id":70}')]})
    manifests.order(source, NOON.isoformat(), once)
    history()
    assert order('{ "id": 70 }').lines[0] == "orders: 1 key with 0 versions, 0 of them current"
    assert "to repeat an erasure write its keys as JSON" in refusal(order, "70")
    assert "so there is nothing to erase" in refusal(order, '{"id":71}')
