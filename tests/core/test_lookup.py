"""A key as a person writes it, where only one other key of the table is known."""

import pytest

from strandline.errors import SpecError
from strandline.lookup import like, nearest

BOTH = '{"order_id":2,"code":"A"}'


@pytest.mark.parametrize(
    ("wanted", "sample", "meant"),
    [
        ("5", '{"id":1}', '{"id":5}'),
        ('"5"', '{"id":1}', '{"id":5}'),
        ("-5", '{"id":1}', '{"id":-5}'),
        ('{ "id" : 5 }', '{"id":1}', '{"id":5}'),
        ('{"id": "5"}', '{"id":1}', '{"id":5}'),
        ("5", '{"code":"A"}', '{"code":"5"}'),
        ('it\'s "so"', '{"code":"A"}', '{"code":"it\'s \\"so\\""}'),
        ("true", '{"on":false}', '{"on":true}'),
        ("null", '{"id":1}', '{"id":null}'),
        ("five", '{"id":1}', '{"id":"five"}'),
        ('{"code": "B", "order_id": 7}', BOTH, '{"order_id":7,"code":"B"}'),
        ('{"order_id": 7, "code": 1.50}', BOTH, '{"order_id":7,"code":"1.50"}'),
    ],
)
def test_a_key_in_any_spelling_is_the_one_that_is_meant(wanted, sample, meant):
    assert like(wanted, sample) == meant


@pytest.mark.parametrize("wanted", ["5", '{"order_id": 7}', '{"order_id": 7, "x": 1}', "[1, 2]"])
def test_what_is_no_key_of_the_table_is_told_what_one_is_made_of(wanted):
    with pytest.raises(SpecError, match="made of order_id, code; write it as") as refused:
        like(wanted, BOTH)
    assert BOTH in str(refused.value)


def test_half_a_json_document_is_a_text_like_any_other():
    assert like('{"id": 5', '{"code":"A"}') == '{"code":"{\\"id\\": 5"}'


def test_where_there_is_nothing_nothing_is_close():
    assert nearest("orders", []) == "there are none yet"
    assert nearest("order", ["orders", "items"]) == "the closest of 2 are orders"
