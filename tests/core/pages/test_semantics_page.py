"""docs/semantics.md says what the cases say."""

from cases.page import PAGE, page


def test_the_page_of_rules_is_what_the_cases_make_it():
    assert PAGE.read_text(encoding="utf-8") == page(), "write it: cd tests && python -m cases.page"
