"""The report: complete, self-contained, and safe to open whatever the rows hold."""

from html.parser import HTMLParser

import pytest

from examples.report import Chapter, Story, render
from examples.tally import tally
from examples.truth import Agreement, Disagreement
from strandline.runs.receipt import Counts, Receipt, TableReceipt
from strandline.timelines.timeline import timeline

KEY = ("code",)


class Outline(HTMLParser):
    """The elements of a document, and the text in it."""

    def __init__(self, html):
        super().__init__()
        self.elements = []
        self.text = ""
        self.feed(html)

    def handle_starttag(self, tag, attrs):
        self.elements.append((tag, dict(attrs)))

    def handle_data(self, data):
        self.text += data

    def count(self, tag, css):
        return sum(
            name == tag and css in (attributes.get("class") or "").split()
            for name, attributes in self.elements
        )


@pytest.fixture
def chapter():
    def build(*rows, agreement=None, tables=()):
        drawn = timeline(rows, KEY)
        return Chapter(
            source="postgres-inventory",
            agreement=agreement or Agreement(keys=1),
            tables=tables,
            seconds=2.5,
            stories=(Story("A story", "Look.", drawn),),
            timelines=(),
        )

    return build


def test_a_row_value_cannot_become_markup(version, chapter):
    html = render([chapter(version({"code": "<b>A</b>", "bio": "<script>alert(1)</script>"}, 10))])

    assert "<script" not in html
    assert "<b>A" not in html
    assert "&lt;script&gt;" in html


def test_the_report_fetches_nothing(version, chapter):
    outline = Outline(render([chapter(version({"code": "A"}, 10))]))

    sources = {"src", "href", "srcset", "xlink:href"}
    assert not [found for _, found in outline.elements if sources & set(found)]


def test_a_key_that_moved_is_an_arrow_between_two_lanes(version, chapter):
    left = version({"code": "A"}, 10, 20, "key_move", moved_to={"code": "B"})
    arrived = version({"code": "B"}, 21, moved_from={"code": "A"})

    outline = Outline(render([chapter(left, arrived)]))

    assert outline.count("path", "arrow") == 1
    assert outline.count("text", "lane-name") == 2


def test_a_truncate_is_a_line_with_its_name(version, chapter):
    closed = version({"code": "A"}, 10, 20, "truncate")

    # The legend shows one as well.
    assert Outline(render([chapter(closed)])).count("line", "fence") == 2
    assert "TRUNCATE" in render([chapter(closed)])


def test_an_open_version_is_marked_and_a_deleted_one_is_not(version, chapter):
    still_open = render([chapter(version({"code": "A"}, 10))])
    deleted = render([chapter(version({"code": "A"}, 10, 20, "delete"))])

    assert Outline(still_open).count("path", "onwards") == 1
    assert Outline(deleted).count("path", "onwards") == 0


def test_a_long_value_is_cut_on_the_bar_and_in_the_hint(version, chapter):
    html = render([chapter(version({"code": "A", "bio": "x" * 5000}, 10))])

    assert "x" * 200 not in html


def test_disagreements_are_listed_with_their_reason(version, chapter):
    wrong = Disagreement("inventory.public.orders", '{"id": 5}', "has no history")
    agreement = Agreement(keys=2, disagreements=(wrong,))

    text = Outline(render([chapter(version({"code": "A"}, 10), agreement=agreement)])).text

    assert "agreed 1 / 2 keys" in text
    assert "has no history" in text


def test_the_numbers_of_a_table_are_those_of_its_runs(version, chapter):
    first = Counts(landed=5, changes=4, control=1, history_rows=4, current_rows=4)
    second = Counts(landed=2, changes=2, history_rows=6, current_rows=5)
    tables = tally(
        Receipt("s", number, (TableReceipt("orders", "t", counts, seconds=1.5),))
        for number, counts in enumerate((first, second))
    )

    [orders] = tables
    text = Outline(render([chapter(version({"code": "A"}, 10), tables=tables)])).text

    assert orders.counts == Counts(landed=7, changes=6, control=1, history_rows=6, current_rows=5)
    assert orders.landed == (5, 2)
    assert "(5 + 2)" in text
