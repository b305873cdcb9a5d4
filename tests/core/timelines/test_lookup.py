"""A key as a person writes it, where the keys of a table are known, or one other of them is."""

import pytest

from strandline.changes.key import canonical
from strandline.errors import SpecError
from strandline.law import TableRules
from strandline.law.decode.general import Decoder
from strandline.sources.nearness import nearest
from strandline.timelines.lookup import key, like

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
        ("TRUE", '{"on":false}', '{"on":true}'),
        ("false", '{"on":true}', '{"on":false}'),
        ("007", '{"id":1}', '{"id":7}'),
        ("5.0", '{"id":1}', '{"id":5}'),
        ("10.50", '{"price":1}', '{"price":10.5}'),
        ('{"price": "9"}', '{"price":10.5}', '{"price":9}'),
        ("1e5", '{"code":"A"}', '{"code":"1e5"}'),
        ("[1,2]", '{"code":"A"}', '{"code":"[1,2]"}'),
        ("true", '{"code":"A"}', '{"code":"true"}'),
        ("null", '{"code":"A"}', '{"code":"null"}'),
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


@pytest.mark.parametrize(
    ("wanted", "sample", "says"),
    [
        ("five", '{"id":1}', "'id' of the key must be a number"),
        ("[1]", '{"id":1}', "'id' of the key must be a number"),
        ("true", '{"id":1}', "'id' of the key must be a number"),
        ("null", '{"id":1}', "'id' of the key must be a number"),
        ('{"id": {"id": 5}}', '{"id":1}', "'id' of the key must be a number"),
        ('{"id": 5', '{"id":1}', "'id' of the key must be a number"),
        ("yes", '{"on":false}', "'on' of the key must be true or false"),
        ("1", '{"on":false}', "'on' of the key must be true or false"),
        ('{"code": [1]}', '{"code":"A"}', "'code' of the key must be a text"),
        ('{"code": null}', '{"code":"A"}', "'code' of the key must be a text"),
        ('{"order_id": "x", "code": "A"}', BOTH, "'order_id' of the key must be a number"),
    ],
)
def test_a_value_that_no_key_of_the_table_can_have_is_refused(wanted, sample, says):
    with pytest.raises(SpecError, match=f"{says}; write the key as ") as refused:
        like(wanted, sample)
    assert sample in str(refused.value)


def test_half_a_json_document_is_a_text_like_any_other():
    assert like('{"id": 5', '{"code":"A"}') == '{"code":"{\\"id\\": 5"}'


@pytest.mark.parametrize(
    "text", ["1e3", "1.50", "007", "0x1f", "true", "null", "1000", "-0", "[1]"]
)
def test_a_text_that_looks_like_something_else_is_found_to_the_letter(text):
    keys = [canonical({"code": each}) for each in ("1000", "1.5", "7", text)]
    assert key(text, keys, Decoder(None, TableRules())) == canonical({"code": text})


@pytest.mark.parametrize("text", ["1e999999999", "-5e-999999999", '{"id":1e999999999}'])
def test_a_number_that_would_fill_the_memory_is_no_key(text):
    for refused in (
        lambda: key(text, ['{"id":1}'], Decoder(None, TableRules())),
        lambda: like(text, '{"id":1}'),
    ):
        with pytest.raises(SpecError, match=r"no key|must be a number"):
            refused()


def test_a_key_is_found_by_a_number_with_an_exponent():
    assert key("1e3", ['{"id":1000}'], Decoder(None, TableRules())) == '{"id":1000}'


def test_where_there_is_nothing_nothing_is_close():
    assert nearest("orders", []) == "there are none yet"
    assert nearest("order", ["orders", "items"]) == "the closest of 2 is orders"


@pytest.mark.parametrize("wanted", ['{"_key": 5}', '{"no": 5}', "5"])
def test_a_key_of_a_renamed_column_is_found_by_either_name(wanted):
    decoder = Decoder(rules=TableRules(rename=(("_key", "no"),)))
    assert key(wanted, ['{"no":4}', '{"no":5}'], decoder) == '{"no":5}'
