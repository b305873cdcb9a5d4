"""docs/facts/: whatever cites a page of facts cites one that is there, by a heading that it has."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[3]
FACTS = ROOT / "docs" / "facts"
PAGES = sorted(FACTS.glob("*.md"))
FOLDERS = (
    *("bench", "dags", "docker", "docs", "examples"),
    *("plugins", "spark_apps", "strandline", "tests"),
)

# docs/facts/order.md, "Key moves" and "Before images"; docs/facts/questions.md, A1
HEADING = r'"[^"]+"|A\d+\b'
CITED = re.compile(
    rf"docs/facts/(?P<page>[\w-]+\.md)\)?(?P<headings>(?:(?:, | and |: )(?:and )?(?:{HEADING}))*)"
)
BETWEEN_PAGES = re.compile(
    r"\]\((?P<page>[\w-]+\.md)\)(?P<headings>(?:(?:, )(?:" + HEADING + "))*)"
)
MARGIN = re.compile(r"\n[ \t]*(?:#[ \t]+)?")  # where a sentence goes on in the next line
PAPERS = re.compile(
    r"debezium-facts|ordering-notes|live-stack|delta-facts|airflow-facts|DESIGN|\bibid\.|§"
)


def files(*endings):
    """All of the project's own, but this one; what lies beside its folders is somebody else's."""
    rooms = (file for folder in FOLDERS for file in (ROOT / folder).rglob("*"))
    for file in sorted({*rooms, *ROOT.glob("*")} - {Path(__file__).resolve()}):
        if file.suffix in endings and file.is_file():
            yield file.relative_to(ROOT).as_posix()


def sentences(path):
    return MARGIN.sub(" ", path.read_text(encoding="utf-8"))


def headings(page):
    found = re.findall(r"^#+ (.+)$", page.read_text(encoding="utf-8"), re.MULTILINE)
    return {*found, *(heading.split(".")[0] for heading in found)}  # A1 stands for all of its own


def cited(pattern, text):
    for match in pattern.finditer(text):
        names = [name.strip('"') for name in re.findall(HEADING, match["headings"])]
        yield match["page"], names


def missing(pattern, text):
    for page, names in cited(pattern, text):
        there = headings(FACTS / page) if (FACTS / page).exists() else None
        if there is None:
            yield page
        else:
            yield from (f"{page}, {name}" for name in names if name not in there)


def test_every_page_of_facts_that_is_cited_is_there_with_the_heading_that_is_named():
    untrue = {
        name: wrong
        for name in files(".py", ".md", ".txt")
        if (wrong := list(missing(CITED, sentences(ROOT / name))))
    }
    assert untrue == {}


@pytest.mark.parametrize("page", PAGES, ids=[page.name for page in PAGES])
def test_what_one_page_of_facts_says_of_another_is_true(page):
    assert list(missing(BETWEEN_PAGES, sentences(page))) == []


def test_the_list_of_pages_names_every_page_of_facts():
    listed = {page for page, _ in cited(BETWEEN_PAGES, sentences(FACTS / "README.md"))}
    assert listed == {page.name for page in PAGES} - {"README.md"}


def test_no_module_cites_a_paper_that_a_reader_of_the_repository_has_not():
    citing = [
        name for name in files(".py") if PAPERS.search((ROOT / name).read_text(encoding="utf-8"))
    ]
    assert citing == []


@pytest.mark.parametrize(
    ("text", "wrong"),
    [
        ('# see docs/facts/order.md, "Key\n# moves".', []),
        ('"Key moves" (docs/facts/order.md, "Key roves")', ["order.md, Key roves"]),
        (
            'docs/facts/order.md: "Key moves", "Tides" and "Ebb"',
            ["order.md, Tides", "order.md, Ebb"],
        ),
        ("docs/facts/questions.md, A12, and docs/facts/questions.md, A13", ["questions.md, A13"]),
        ("docs/facts/tides.md", ["tides.md"]),
    ],
)
def test_a_citation_that_is_wrong_is_found(text, wrong):
    assert list(missing(CITED, MARGIN.sub(" ", text))) == wrong
