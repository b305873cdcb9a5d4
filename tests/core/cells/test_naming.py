import re
from pathlib import Path

import pytest

from strandline.cells import naming
from strandline.changes import version
from strandline.errors import Terminal

SPREAD = Path(__file__).parents[3] / "spark_apps/strandline_spark/spread"


def test_what_spark_notes_beside_columns_are_the_names_that_no_column_may_have():
    texts = ((SPREAD / f"{name}.py").read_text() for name in ("onward", "replacement"))
    noted = {name for text in texts for name in re.findall(r'"(_[a-z][a-z_]*)"', text)}
    own = {name for name, _ in (*version.COLUMNS, *version.INTERNAL_COLUMNS)}
    assert noted - own == naming.WORKING


@pytest.mark.parametrize("name", ["_valid_to", "_KEY", "_same", "_table"])
def test_a_column_called_like_one_of_the_history_s_own_is_refused_with_a_remedy(name):
    with pytest.raises(Terminal, match=f"column '{name}' is called like") as told:
        naming.check(["id", name], {})
    assert f'rename = {{ "{name}" = "{name[1:].lower()}_" }}' in str(told.value)


def test_columns_that_differ_in_capitals_only_are_refused():
    with pytest.raises(Terminal, match="'Name' and 'NAME' differ in capitals only"):
        naming.check(["id", "Name", "NAME"], {})


def test_a_remedy_calls_a_column_as_the_source_does_and_proposes_a_name_that_is_free():
    with pytest.raises(Terminal, match=r'rename = \{ "NAME" = "title__" \}'):
        naming.check(["id", "Title", "title_", "TITLE"], {"NAME": "TITLE"})


def test_a_column_that_could_not_be_renamed_is_told_with_the_column_in_its_way():
    assert naming.renamed({"a": 1, "b": 2}, {"a": "b"}) == {"a": 1, "b": 2}
    with pytest.raises(Terminal, match="column 'a' cannot be called 'b'"):
        naming.check(["a", "b"], {"a": "b"})


@pytest.mark.parametrize("names", [{"a": "b", "b": "a"}, {"a": "b", "b": "c"}, {"a": "A"}])
def test_columns_may_change_names_with_each_other(names):
    found = naming.renamed({"a": 1, "b": 2, "d": 3}, names)
    assert found == {names["a"]: 1, names.get("b", "b"): 2, "d": 3}
    naming.check(found, names)


@pytest.mark.parametrize("name", ["key", "value", "_id", "__deleted", "First Name", "größe", "a.b"])
def test_every_other_name_is_taken_over(name):
    naming.check(["id", name], {})


@pytest.mark.parametrize(("name", "plain"), [("a.b", True), ("a b", False), ("a(b)", False)])
def test_a_name_is_plain_where_every_delta_table_can_have_it(name, plain):
    assert naming.is_plain(name) is plain
