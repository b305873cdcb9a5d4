"""Tables whose columns come, go and widen at random between runs: Spark against the law.

A run finds a table that runs before it made, so here is tried what no single run shows: what Delta
lets a table become. `STRANDLINE_FUZZ_EXAMPLES` sets how many tables, `STRANDLINE_FUZZ_SEED` which.
"""

import os
import random
from dataclasses import dataclass, replace

import pytest
from cases.language import read
from strandline_spark import engine
from strandline_spark.engine import CaptureLake

from strandline.cells import rendering
from strandline.changes.rules import TableRules
from strandline.connectors import CONNECTORS
from strandline.engine import recorded_at
from strandline.law import interpret
from strandline.runs.lake import SourceLake

_COUNT = int(os.environ.get("STRANDLINE_FUZZ_EXAMPLES", "2"))
_SEED = int(os.environ.get("STRANDLINE_FUZZ_SEED", "0"))
_RUNS = 3

# Each type with values of it, and what it may widen to.
_VALUES = {
    "int16": ("-7", "300"),
    "int32": ("-7", "70000"),
    "int64": ("-7", "9007199254740993"),
    "float": ("1.5", "-0.25"),
    "double": ("1.25e300", "-0.5"),
    "decimal(6,2)": ("12.50", "-0.01"),
    "decimal(20,0)": ("18446744073709551615", "0"),
    "decimal(24,4)": ("12.5000", "12345678901234567890.0001"),
    "string": ("A", '"two words"'),
    "boolean": ("true", "false"),
    "bytes": ("AQI=", "AA=="),
    "Date": ("20717", "0"),
    "MicroTime": ("1", "86399999999"),
    "MicroTimestamp": ("1789948800000000", "-1"),
    "ZonedTimestamp": ("2026-09-21T00:00:00Z", "1999-12-31T23:59:59.5Z"),
    "Json": ('{"a":1}', "[]"),
}
_WIDER = {
    "int16": ("int32", "int64", "double", "decimal(20,0)"),
    "int32": ("int64", "double", "decimal(20,0)"),
    "int64": ("decimal(20,0)",),
    "float": ("double",),
    "decimal(6,2)": ("decimal(24,4)",),
    "decimal(20,0)": ("decimal(24,4)",),
    "Date": ("MicroTimestamp",),
}
_NAMES = ("name", "Größe", "unit.price", "a-b", "n`n", "value", "key", "in[0]", "x", "y", "z")
_KEY_TYPES = ("int16", "int32", "int64", "decimal(6,2)", "string", "Date")


@dataclass(frozen=True)
class _Table:
    """A table at one moment: the type of its key, and its columns in their order."""

    key: str
    columns: tuple[tuple[str, str], ...]

    @property
    def line(self) -> str:
        return ", ".join([f"id {self.key} key", *(f"{name} {of}" for name, of in self.columns)])


def story(seed: int) -> str:
    """A case in the case language, with no history: the engines tell it each other."""
    chance = random.Random(seed)  # noqa: S311 - no secret
    table = _Table(chance.choice(_KEY_TYPES), ())
    for _ in range(chance.randint(1, 3)):
        table = _added(table, chance)
    lines = [f"== table {seed}", f"columns: {table.line}"]
    position = 10
    standing: dict[str, None] = {}
    for number in range(_RUNS):
        if number:
            lines.append("---")
        for _ in range(chance.randint(2, 4)):
            position += 10
            lines += _change(table, standing, position, chance)
            if chance.random() < 0.5:
                table = chance.choice((_added, _added, _dropped, _widened, _reordered))(
                    table, chance
                )
                lines.append(f"columns: {table.line}")
    return "\n".join([*lines, "=> nothing", ""])


def _change(table: _Table, standing: dict, position: int, chance: random.Random) -> list[str]:
    row = ",".join(_cell(of, chance) for _, of in table.columns) or None
    key = chance.choice(_keys(table))
    last = standing.get(key, "d")
    op = "c" if last == "d" else chance.choice("uuud")
    standing[key] = op
    spelled = _spelled(key, table.key)
    if op == "d":
        return [f"d {spelled} @{position}", f"tomb {spelled}"]
    return [f"{op} {spelled} {row or ''} @{position}"]


def _keys(table: _Table) -> tuple[str, ...]:
    return ("A", "B") if table.key == "string" else ("1", "2")


def _spelled(key: str, of: str) -> str:
    """The same key in whatever its type is now."""
    if of == "MicroTimestamp":
        return str(int(key) * 86_400_000_000)
    return {"decimal(6,2)": f"{key}.50", "decimal(24,4)": f"{key}.5000"}.get(of, key)


def _cell(of: str, chance: random.Random) -> str:
    return "null" if chance.random() < 0.2 else chance.choice(_VALUES[of])


def _added(table: _Table, chance: random.Random) -> _Table:
    free = [name for name in _NAMES if name not in dict(table.columns)]
    column = (chance.choice(free), chance.choice(list(_VALUES)))
    at = chance.randint(0, len(table.columns))
    return replace(table, columns=(*table.columns[:at], column, *table.columns[at:]))


def _dropped(table: _Table, chance: random.Random) -> _Table:
    if len(table.columns) < 2:
        return table
    gone = chance.choice(table.columns)
    return replace(table, columns=tuple(each for each in table.columns if each != gone))


def _widened(table: _Table, chance: random.Random) -> _Table:
    """Wider columns; a key of decimals only to more digits, since its values have two of them."""
    if table.key in {"int16", "int32", "int64", "Date", "decimal(6,2)"} and chance.random() < 0.4:
        wider = [of for of in _WIDER[table.key] if of != "double"]
        return replace(table, key=chance.choice(wider))
    columns = tuple(
        (name, chance.choice(_WIDER[of]) if of in _WIDER else of) for name, of in table.columns
    )
    return replace(table, columns=columns)


def _reordered(table: _Table, chance: random.Random) -> _Table:
    return replace(table, columns=tuple(chance.sample(table.columns, len(table.columns))))


@pytest.mark.heavy
def test_tables_that_change_between_runs_have_the_law_s_histories(spark, tmp_path):
    path = tmp_path / "changes.txt"
    stories = map(story, range(_SEED, _SEED + _COUNT))
    path.write_text("connector: postgresql\n\n" + "\n".join(stories), encoding="utf-8")
    cases = list(read(path))
    records = [record for case in cases for record in case.records]
    moment = recorded_at(records)
    lake = CaptureLake(
        SourceLake(f"{tmp_path}/lake", "changes"), "postgresql", moment,
        lambda _: TableRules(),
        session=spark,
    )  # fmt: skip
    runs = [
        [record for case in cases for record in case.batches[number]] for number in range(_RUNS)
    ]
    receipts = list(lake.runs(runs))
    told: dict[str, list[str]] = {}
    for topic, cells in engine.rows(spark, lake.lake, receipts):
        told.setdefault(topic, []).append(rendering.line(topic, cells))
    stopped = {table.topic: table.error for each in receipts for table in each.tables}
    for table in interpret(records, CONNECTORS["postgresql"], moment).tables:
        if table.error is None:
            expected = [rendering.line(table.topic, each.cells()) for each in table.versions]
            assert told.get(table.topic) == expected, f"{table.topic}: {stopped[table.topic]}"
        else:
            assert stopped[table.topic] is not None, table.error
