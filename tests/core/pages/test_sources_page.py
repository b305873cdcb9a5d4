"""Pages: every source file they print is accepted; docs/sources.md says what connectors read."""

import re
from pathlib import Path

import pytest

from strandline.connectors import CONNECTORS
from strandline.sources.source import LAKE_VARIABLE, parse

ROOT = Path(__file__).parents[3]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
BLOCK = re.compile(r"^```toml\n(.*?)^```", re.MULTILINE | re.DOTALL)
LINK = re.compile(r"\]\(([^)#]+)\)")
PAGE = (ROOT / "docs" / "sources.md").read_text()
GENERAL, *SECTIONS = re.split(r"^## (?!What holds)", PAGE, flags=re.MULTILINE)
BLOCKS = [(page.name, text) for page in PAGES for text in BLOCK.findall(page.read_text())]


def read(text):
    return parse(text, Path("shop.toml"), {LAKE_VARIABLE: "/lake"})


@pytest.mark.parametrize(("page", "text"), BLOCKS, ids=[page for page, _ in BLOCKS])
def test_a_source_file_that_a_page_prints_is_accepted(page, text):
    assert read(text).connector in CONNECTORS, page


@pytest.mark.parametrize("page", PAGES, ids=[page.name for page in PAGES])
def test_what_a_page_links_to_is_there(page):
    for target in LINK.findall(page.read_text()):
        assert "://" in target or (page.parent / target).exists(), target


def test_every_source_has_a_section_with_a_source_file_of_its_own():
    written = [read(BLOCK.findall(section)[-1]).connector for section in SECTIONS]
    named = {"bmdbdb", "sqlserver", "db2", "mysql", "mariadb", "oracle", "tencent", "postgresql"}
    assert sorted(written) == sorted(named)
    for name, connector in CONNECTORS.items():
        row = next(
            line for line in GENERAL.splitlines() if line.startswith("| [") and f"`{name}`" in line
        )
        assert all(f"`{accepted}`" in row for accepted in connector.accepts)


LSN = "00000000:00001e36:000000000004a1b4"
# Sources as their connectors send them, each in the variants that are read differently.
SOURCES = {
    "bmdbdb": [
        {"lsn": "1:4::0:0", "commit_time": 7331221127159697408, "tablet_id": "a", "txId": "t"},
        {"lsn": "1:4::0:0", "txId": "", "ts_ms": 1, "tablet_id": "a", "table": "t"},
        {"lsn": "10", "sequence": '["9","10"]', "txId": "7", "ts_us": 1},
    ],
    "sqlserver": [
        {"commit_lsn": "27:2a:5", "change_lsn": "27:2a:2", "event_serial_no": 1, "ts_ms": 1},
        {"commit_lsn": "27:2a:5", "version": "3.6.0.Final", "ts_us": 1},
    ],
    "db2": [
        {"commit_lsn": LSN, "change_lsn": LSN, "version": "3.7.0.Final", "ts_us": 1},
        {"commit_lsn": LSN, "version": "3.6.0.Final", "ts_ms": 1},
    ],
    "mysql": [
        {"file": "b.000003", "pos": 4, "row": 0, "connector": "mysql", "gtid": "u:1", "ts_us": 1},
        {"file": "b.000003", "pos": 4, "row": 0, "connector": "mysql", "ts_ms": 1},
    ],
    "mariadb": [{"file": "b.000003", "pos": 4, "row": 0, "connector": "mariadb", "ts_us": 1}],
    "oracle": [
        {"scn": "3", "commit_scn": "4", "txId": "t", "txSeq": 1, "commit_ts_ms": 1},
        {"scn": "3", "txId": "t", "ts_ms": 1},
    ],
    "tencent": [{"file": "b.000003", "pos": 4, "row": 0, "connector": "mysql", "ts_ms": 1}],
    "postgresql": [
        {"sequence": '["3","4"]', "lsn": 4, "txId": 5, "ts_us": 1},
        {"lsn": 4, "txId": 5, "ts_ms": 1},
    ],
}


class Asked(dict):
    """A `source` that remembers which of its fields somebody looked at."""

    def __init__(self, fields):
        super().__init__(fields)
        self.names = set()

    def get(self, name, default=None):
        self.names.add(name)
        return super().get(name, default)


def section(name):
    return next(text for text in SECTIONS if f'connector = "{name}"' in text)


def is_named(name, text):
    return re.search(rf"`[^`\n]*\b{name}\b[^`\n]*`", text) is not None


@pytest.mark.parametrize("name", SOURCES)
def test_the_page_names_every_field_that_the_connector_reads(name):
    for fields in SOURCES[name]:
        asked, connector = Asked(fields), CONNECTORS[name]
        connector.position(asked)
        connector.identity(asked)
        connector.ordinal(asked, {"total_order": 1})
        connector.tx_id(asked)
        connector.table(asked)
        connector.tablet(asked)
        for snapshot in (True, False):
            connector.time(asked, snapshot=snapshot)
        assert {"lsn", "commit_lsn", "file", "scn", "sequence"} & asked.names
        missing = {n for n in asked.names if not is_named(n, section(name) + GENERAL)}
        assert not missing


@pytest.mark.parametrize("name", SOURCES)
def test_the_page_names_every_quality_of_the_connector_s_times(name):
    found = {
        CONNECTORS[name].time(fields, snapshot=snapshot).quality
        for fields in SOURCES[name]
        for snapshot in (True, False)
    }
    assert len(found) > 1
    assert [quality for quality in found if f"`{quality}`" not in section(name)] == []
