"""What tables are called in a catalog, and what `[catalog]` may say."""

from pathlib import Path

import pytest

from strandline.errors import SpecError
from strandline.sources import source as source_file
from strandline.sources.catalog import Catalog

FILE = 'connector = "postgresql"\nlake = "/lake"\n[kafka]\ntopic_prefix = "shop"\n'


def catalog(text, name="shop"):
    return source_file.parse(FILE + text, Path(f"{name}.toml")).catalog


def test_a_source_has_no_catalog_unless_its_file_says_so():
    assert catalog("") is None


def test_a_section_without_a_word_names_the_database_as_the_source():
    assert catalog("[catalog]\n", "Web-Shop") == Catalog("metastore_default", "web_shop", {}, 3)


def test_a_section_says_all_that_is_wrong_with_it():
    names = '"public.a" = "1a"'
    with pytest.raises(SpecError) as error:
        catalog(
            '[catalog]\nconnection = " "\ndatabase = "Shop"\npublications = 101\n'
            f"[catalog.names]\n{names}\n"
        )
    said = str(error.value)
    assert "[catalog]: 'connection' is empty" in said
    assert "'database' is a name that every SQL engine is to take" in said
    assert "'names.public.a' is a name" in said
    assert "'publications' must be 0 to 100, not 101" in said


def test_an_unknown_key_is_refused_with_those_there_are():
    with pytest.raises(SpecError, match="'kind'; allowed are connection, database, names, publ"):
        catalog('[catalog]\nkind = "hive"\n')


def test_a_table_is_called_by_its_name_in_letters_that_every_engine_takes():
    found = catalog('[catalog]\n[catalog.names]\n"public.orders" = "orders"\n')
    assert found.name("public.orders") == "orders"
    assert found.name("public.Order$Lines") == "public_order_lines"


@pytest.mark.parametrize(
    ("tables", "clashing"),
    [
        (["a.b", "a_b"], "a_b"),
        (["a", "a_current"], "a_current"),
        (["a", "a_as_of"], "a_as_of"),
        (["a", "a_published"], "a_published"),
        (["publications", "a"], "publications"),
        (["a" * 119, "b"], "a" * 119),
    ],
)
def test_a_table_whose_name_is_taken_or_too_long_is_told_with_the_remedy(tables, clashing):
    clashes = catalog("[catalog]\n").clashes(tables)
    assert list(clashes) == [clashing]
    assert f'give it another one in [catalog.names]: "{clashing}" = …' in clashes[clashing]


def test_a_table_that_was_given_its_name_keeps_it_from_one_that_only_happens_to_have_it():
    found = catalog('[catalog]\n[catalog.names]\n"public.orders" = "orders"\n')
    assert list(found.clashes(["orders", "public.orders"])) == ["orders"]


def test_the_database_of_a_publication_is_told_from_others_of_a_like_name():
    found = catalog("[catalog]\n")
    assert found.number(found.cut(42)) == 42
    assert [found.number(name) for name in ("shop_at_home", "shop_at_1_at_2", "shop")] == [None] * 3
