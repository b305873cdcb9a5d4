"""Which of the tables that a topic has shown are one: also by what a release before has noted."""

import pytest

from strandline.changes import merged, scope
from strandline.errors import Terminal

COLUMNS = ("id",)


def known(*parts, tablet=None, mark=""):
    return scope.known(scope.of(0, "server", scope.name(parts, tablet), mark=mark))


def check(*tables):
    merged.check([(table, COLUMNS) for table in tables])


@pytest.mark.parametrize(
    "parts",
    [("shop", "item"), ("shop.eu", "item"), ("shop", "a@b"), ("shop", "@"), ("a.b", "c", "d.e")],
)
def test_a_table_is_the_one_that_a_release_before_has_noted(parts):
    before = f"server//{'.'.join(parts)}"
    check(before, known(*parts))
    new, old = scope.of(0, "server", scope.name(parts)), f"0000/{before}"
    assert scope.concerns(new, old)
    assert scope.concerns(old, new)
    assert scope.table(new) == scope.table(old) == ".".join(parts)


def test_what_keys_called_their_tables_in_a_release_before_is_not_known():
    check("server/+/shop.a", "server/+/shop.b", known("shop", "a", mark="p.a"))


def test_names_of_equal_letters_are_two_tables_where_their_dots_are_others():
    one, other = (scope.of(0, None, scope.name(parts)) for parts in (("a.b", "c"), ("a", "b.c")))
    assert not scope.concerns(one, other)
    with pytest.raises(Terminal, match=r'tables, "a\.b"\.c and a\."b\.c",'):
        check(known("a.b", "c"), known("a", "b.c"))


def test_tablets_and_names_that_leave_something_out_are_of_one_table():
    check(
        known("shop", "public", "item", tablet="a"),
        known("shop", "public", "item", tablet="b"),
        known("public", "item"),
        known("shop", "item"),
        known("item"),
    )


@pytest.mark.parametrize("other", [("item",), ("eu", "goods"), ("shop", "public", "item")])
def test_any_other_name_is_another_table(other):
    with pytest.raises(Terminal, match="several tables"):
        check(known("shop", "public", "goods"), known(*other))
