"""One table of a source as its file describes it: `[[table]]`, and what holds of all others."""

import re
from collections import Counter
from collections.abc import Collection
from dataclasses import dataclass, replace
from datetime import timedelta

from strandline.cells import naming
from strandline.changes.rules import TableRules, column_type
from strandline.sources.expectations import Expectations
from strandline.sources.section import Section

TOPIC = re.compile(r"[A-Za-z0-9._-]+")  # what Kafka allows
_NAME = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.$-]*")


@dataclass(frozen=True, slots=True)
class Tolerance:
    """What is borne of a table without an alert.

    `freshness`: how long a change may wait until it is in the published history. `quarantine`: how
    many records may lie there.
    """

    freshness: timedelta
    quarantine: int = 0

    @staticmethod
    def of(section: Section, default: "Tolerance") -> "Tolerance":
        """What a section says, and what it does not say by default."""
        freshness = section.duration("freshness")
        quarantine = section.number("quarantine", 0, default=default.quarantine)
        return Tolerance(default.freshness if freshness is None else freshness, quarantine)


@dataclass(frozen=True, slots=True)
class Defaults:
    """What holds of tables that say nothing else of themselves."""

    prefix: str
    rules: TableRules
    tolerance: Tolerance
    expectations: Expectations


@dataclass(frozen=True, slots=True)
class TableSpec:
    """What a user says of one table where it differs from the default."""

    topic: str
    name: str
    rules: TableRules
    tolerance: Tolerance
    expectations: Expectations

    @staticmethod
    def of(section: Section, defaults: Defaults) -> "TableSpec":
        """The table of a source file's section."""
        topic = section.take("topic", str, required=True)
        if not TOPIC.fullmatch(topic):
            section.refuse(
                "topic",
                f"is the name of a topic: letters, digits, '.', '_' and '-' only, not {topic!r}",
            )
        # As without the section: what is said of a table that has a history must not rename it.
        name = section.take("name", str, less(defaults.prefix, topic))
        if topic and not _NAME.fullmatch(name):
            section.refuse(
                "name",
                f"becomes a folder: letters, digits, '_', '.', '$' and '-' only, not {name!r}",
            )
        rules = _rules(section, defaults.rules)
        tolerance = Tolerance.of(section, defaults.tolerance)
        expected = Expectations.of(section.within("expectations"), defaults.expectations)
        section.finish()
        _check(section, rules)
        _check_nulls(section, rules, expected)
        return TableSpec(topic, name, rules.renamed(), tolerance, expected)


def tables(top: Section, defaults: Defaults) -> tuple[TableSpec, ...]:
    """The tables that a source file tells of, each topic and each name once."""
    found = [TableSpec.of(section, defaults) for section in top.sections("table", "topic")]
    for kind in ("topic", "name"):
        values = Counter(getattr(table, kind) for table in found)
        for value, times in values.items():
            if value and times > 1:
                number = "two" if times == 2 else str(times)
                top.mistakes.note(f"{number} [[table]] sections have the {kind} '{value}'")
    return tuple(found)


def less(prefix: str, topic: str) -> str:
    """A topic without the connector's prefix."""
    return topic.removeprefix(f"{prefix}.")


def _rules(section: Section, default: TableRules) -> TableRules:
    return replace(
        default,
        key=section.strings("key"),
        track=section.strings("track"),
        ignore=section.strings("ignore"),
        columns=tuple(section.mapping("columns").items()),
        never_streamed=section.strings("never_streamed"),
        rename=tuple(section.mapping("rename").items()),
        flattened=section.take("flattened", bool, default.flattened),
        sweep=section.take("sweep", bool, default.sweep),
        hold_regress=section.take("hold_regress", bool, default.hold_regress),
        one_table=section.take("one_table", bool, False),
    )


def _check(section: Section, rules: TableRules) -> None:
    """Notes columns of no type, columns that are said of twice, and such as a contract lacks."""
    for column, text in rules.columns:
        try:
            column_type(text)
        except ValueError as error:
            section.note(f"'columns.{column}': {error}")
    _check_names(section, rules)
    for column in sorted(set(rules.track) & set(rules.ignore)):
        section.note(f"'{column}' is in 'track' and in 'ignore'")
    for name in ("key", "track"):
        for column in sorted(set(rules.never_streamed) & set(getattr(rules, name))):
            section.note(
                f"'{column}' is in 'never_streamed' and in '{name}': what only snapshots read "
                "makes no version and identifies no row"
            )
    contract = [column for column, _ in rules.columns]
    for name in ("key", "track", "ignore", "never_streamed", "rename"):
        asked = rules.renamed_to if name == "rename" else getattr(rules, name)
        _check_columns(section, name, asked, contract)


def _check_columns(
    section: Section, name: str, asked: Collection[str], there: Collection[str]
) -> None:
    """Notes which columns are none of a contract, where there is one."""
    for column in asked if there else ():
        if column not in there:
            section.note(
                f"'{name}' names the column '{column}', which 'columns' lacks; there are "
                f"{', '.join(there)}"
            )


def _check_nulls(section: Section, rules: TableRules, expected: Expectations) -> None:
    """Notes columns that the history of a contract will not have, by their names there."""
    names = dict(rules.rename)
    there = [names.get(column, column) for column, _ in rules.columns]
    _check_columns(section, "expectations.max_nulls", expected.max_nulls, there)


def _check_names(section: Section, rules: TableRules) -> None:
    """Notes names that columns cannot have, or that two of them would have."""
    names = dict(rules.rename)
    wrong = naming.fault(names.values())
    if wrong is not None:
        old = next(old for old, new in reversed(names.items()) if new == wrong[0])
        section.note(f"'rename.{old}': {wrong[1]}")
    kept = {column for column, _ in rules.columns} - names.keys()
    for old, new in names.items():
        if new in kept:
            section.note(f"'rename.{old}': 'columns' has a column '{new}' already")
