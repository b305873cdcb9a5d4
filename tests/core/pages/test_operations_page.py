"""The faults of docs/operations.md name the tests that show what happens; those have to exist."""

import re
from pathlib import Path

PROJECT = Path(__file__).parents[3]
FAULTS = (PROJECT / "docs" / "operations.md").read_text(encoding="utf-8").partition("## Faults")[2]


def rows():
    lines = [line for line in FAULTS.splitlines() if line.startswith("| ")]
    cells = [[cell.strip() for cell in line.strip("|").split(" | ")] for line in lines]
    return [row for row in cells if row[0] != "fault"]


def test_every_fault_has_an_outcome_something_to_do_and_a_test():
    assert len(rows()) > 20
    assert [row for row in rows() if len(row) != 4 or not all(row)] == []
    assert [row[0] for row in rows() if "`" not in row[3]] == []


def test_every_test_that_is_named_exists():
    files = (PROJECT / "tests").rglob("test_*.py")
    found = {
        name for f in files for name in re.findall(r"^def test_(\w+)", f.read_text(), re.MULTILINE)
    }
    named = {name for row in rows() for name in re.findall(r"`(\w+)`", row[3])}
    assert named - found == set()
