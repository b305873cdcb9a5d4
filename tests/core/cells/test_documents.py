"""Documents by value: what says the same is one form, what does not is another."""

import json
from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from strandline.cells.documents import alike, comparable
from strandline.cells.types import ANY, Dialect

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
)
EXACT, MYSQL = ANY, Dialect(two_printers=True)


def backwards(document):
    """The same with the members of each object in the other order."""
    if isinstance(document, dict):
        return {name: backwards(document[name]) for name in reversed(document)}
    return [backwards(each) for each in document] if isinstance(document, list) else document


@pytest.mark.parametrize("dialect", [EXACT, MYSQL])
@given(JSON)
def test_white_space_order_and_escapes_say_nothing(dialect, document):
    loose = json.dumps(backwards(document), indent=3, separators=(" , ", "\t:\r\n"))
    tight = json.dumps(document, separators=(",", ":"), ensure_ascii=False)
    assert alike(loose, tight, dialect)


@given(JSON, JSON)
def test_other_documents_are_others(one, other):
    texts = json.dumps(one, sort_keys=True), json.dumps(other, sort_keys=True)
    assert (comparable(texts[0]) == comparable(texts[1])) == (texts[0] == texts[1])


@given(st.decimals(allow_nan=False, allow_infinity=False))
def test_a_number_is_exact_however_it_is_spelt(number):
    assert alike(str(number), format(number, "f"), EXACT)
    following = format(number, "f") + ("01" if "." in format(number, "f") else ".01")
    assert not alike(str(number), following, EXACT)


@given(st.floats(allow_nan=False, allow_infinity=False))
def test_a_double_of_mysql_is_one_in_the_fewest_digits_and_in_all(number):
    """As the server prints it, and as the connector does where it has an exponent."""
    assert alike(repr(number), format(Decimal(number), "f"), MYSQL)


@given(st.integers(-(2**63), 2**64 - 1))
def test_integers_of_mysql_are_exact(number):
    assert not alike(str(number), str(number + 1), MYSQL)
    assert alike(str(number), f"{number} ", MYSQL)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("1", "1.0"),
        ("-0.0", "0"),
        ("1E+2", "100"),
        ('{"a":1,"a":2}', '{"a":2}'),
        (r'"\u00e4\/"', '"ä/"'),
        ("[1,\n2]", "[1, 2.0]"),
    ],
)
def test_documents_of_one_value(one, other):
    assert alike(one, other, EXACT)
    assert alike(one, other, MYSQL)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("1", "true"),
        ("1", '"1"'),
        ("null", '"null"'),
        ("{}", "[]"),
        ("[1,2]", "[2,1]"),
        ('{"a":null}', "{}"),
        ("9007199254740993", "9007199254740992"),
        ("1152921504606846976", "1152921504606847000"),
        ("0.12345678901234567890123", "0.12345678901234567890124"),
        ('"a b"', '"ab"'),
        ("1e999999999999999999999", "1e999999999999999999998"),
    ],
)
def test_documents_of_two_values(one, other):
    assert not alike(one, other, EXACT)
    assert not alike(one, other, MYSQL)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ('"2015-01-15 23:24:25.000000"', '"2015-01-15 23:24:25"'),
        ('"23:24:25.120000"', '"23:24:25.12"'),
        ('"-838:59:59.000000"', '"-838:59:59"'),
        ('"base64:type15:VGVz\\ndA=="', '"VGVzdA=="'),
        ("1e20", "100000000000000000000"),
        ("0.00001", "0.000010000000000000000818030539140313095458623138256371021270751953125"),
    ],
)
def test_what_mysql_s_two_printers_print_is_one_value_of_mysql_alone(one, other):
    assert alike(one, other, MYSQL)
    assert alike(f'{{"at":[{one}]}}', f'{{"at": [{other}]}}', MYSQL)
    assert alike(one, other, EXACT) == (one == "1e20")


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ('"23:24:25.100000"', '"23:24:25"'),
        ('"23:24:25.000001"', '"23:24:25"'),
        ('"12.50"', '"12.5"'),
        ('"at 23:24:25.000000"', '"at 23:24:25"'),
        ('"23:24:25.0000000"', '"23:24:25"'),
    ],
)
def test_other_texts_of_mysql_are_others(one, other):
    assert not alike(one, other, MYSQL)


@pytest.mark.parametrize("text", ["", "{", "NaN", "[1,]", '{"a":1} x'])
def test_what_is_no_document_compares_as_text(text):
    assert comparable(text) == text


def test_a_document_that_is_nested_too_deeply_compares_as_text():
    text = "[" * 100_000 + "]" * 100_000
    assert alike(text, text, EXACT)
    assert not alike(text, f" {text}", EXACT)
