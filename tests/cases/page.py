"""Writes docs/semantics.md: every rule in a sentence or two, with a case that shows it, verbatim.

`python -m cases.page` from `tests/` writes the page; a test holds it to the cases.
"""

import re
from dataclasses import dataclass
from pathlib import Path

HERE = Path(__file__).parent
PAGE = HERE.parents[1] / "docs" / "semantics.md"
INTRODUCTION = """# What every rule means

One rule, one example. The examples are cases of `tests/cases/`, word for word; both engines are held
to them. `c`, `u`, `d`, `r`, `t`, `tomb` are create, update, delete, snapshot read, truncate and
tombstone; `@10` is the position in the source's log, committed ten seconds after noon; `p1` is
partition 1, and `---` ends a batch. What follows `=>` is the history that must come of it. The
[format](../tests/cases/README.md) has the rest.

This page is written by `tests/cases/page.py`; `make test` fails where it differs from the cases.
"""


@dataclass(frozen=True)
class Rule:
    """A rule in words, and the case that shows it."""

    heading: str
    words: str
    file: str
    title: str


RULES = (
    Rule("Changes make versions",
         "A create opens a version. An update closes it and opens the next. `_valid_from` is the best time that the source gives, `_valid_to` that of what closed the version; null stands for open.",
         "basics", "A create opens a version, an update closes it and opens the next"),
    Rule("Order is the position, never a clock",
         "Several changes in one instant stay, as versions of no length: visible by position, invisible to a query as of a time.",
         "basics", "S01 Create, two updates and a delete in one instant leave zero-length versions"),
    Rule("A delete is remembered",
         "A delete closes. On a key that is not live it opens nothing, but an older record that lands later cannot raise the row again.",
         "basics", "A delete is remembered: an older row that arrives later does not rise"),
    Rule("A tombstone adds nothing to its delete",
         "It is bound to the record of its key directly before it in the partition, and shares its fate when a crash delivers both again.",
         "tombstones", "The tombstone of a repeated delete dies with it"),
    Rule("A lone tombstone is a delete",
         "Log compaction, or a flattening transform, may leave only the tombstone. It stands directly after the record before it; its time is Kafka's.",
         "tombstones", "S17 A lone tombstone on a live key is a delete, at Kafka's time"),
    Rule("A truncate is a fence",
         "It closes every version that is open at its position, in every partition, also of records that land after it. Rows after it stand.",
         "truncates", "S08 A row that lands after the truncate but is older is born closed"),
    Rule("A truncate is of one table",
         "Where one topic carries several physical tables, it ends the rows of its own.",
         "truncates", "S10 A truncate of one shard in a merged topic closes that shard's rows only"),
    Rule("Two tables in one topic are never one row",
         "Where nothing in their keys tells them apart, the table is held, with a message that names both.",
         "tables", "Two tables that share a topic hold the table, and never become one row"),
    Rule("Unless the source file says that they are one table",
         "With `one_table = true` the topic is one table, and the key alone is the row's identity: of shards, of partitions, of a table that was renamed.",
         "tables", "With one_table the key alone is the row's identity, in whichever table it is"),
    Rule("A key move is one row under two keys",
         "The old key closes as `key_move`, the new one opens with where it came from, and `_entity_id` follows the row, in whatever order the halves land.",
         "key-moves", "S04 The halves of a move share one position: the old key closes, the new one opens"),
    Rule("A chain of moves keeps the entity",
         "Lineage is a chain of stays, not of keys: a key may be left, reused, and come back.",
         "key-moves", "A chain of moves keeps the entity"),
    Rule("Half a move is reported",
         "A half that never finds its partner is counted as orphaned; the row still ends.",
         "key-moves", "S05 A delete with a new key whose create never comes is reported"),
    Rule("A key may be taken over before its row left it",
         "One statement may shift keys (`id = id + 1`). Inside a transaction the rows of a key queue: a create appends, a delete takes the row equal to its before image, else the oldest.",
         "oracle", "S06 A shift of all keys in one statement keeps every row"),
    Rule("What was not sent is not NULL",
         "A placeholder keeps the last known value, also across a key move.",
         "partial-images", "S07 A moved row without its large value has the value of its old key"),
    Rule("What was never sent is said to be missing",
         "Where no value is known the column is NULL and listed in `_unavailable`.",
         "partial-images", "A value that nobody ever sent is NULL and listed"),
    Rule("A column may have another name here",
         "`rename` of a table in the source file calls a column as a history can hold it. Everything else that the file says of it calls it as the source does.",
         "renamed", "A column that is called like one of a history's own is renamed"),
    Rule("What only snapshots read is unavailable in between",
         "`never_streamed` names columns that the stream lacks, such as generated ones. They make no version; a change makes them unavailable, a read makes them known.",
         "never-streamed", "A column that the stream never has is unavailable after a change, and the next snapshot corrects nothing"),
    Rule("An update may hold only what changed",
         "BMDBDB wraps cells: a bare null was not sent, a wrapped null is NULL.",
         "bmdbdb", "S20 An update holds what changed: not sent is not NULL"),
    Rule("How a value is written is said or certain",
         "Records without schema do not show how the connector was set. The source file does; without a word the defaults hold, and what may be written otherwise is quarantined.",
         "modes", "Hexadecimal text that may be base64 is quarantined where nobody says which it is"),
    Rule("JSON goes by its value",
         "How a document is printed says nothing. The version shows the text that it began with.",
         "documents", "How a document is printed is no change"),
    Rule("Nanoseconds that have wrapped are the moment that was meant",
         "Where a database keeps fewer digits of a second than nine, one moment alone wraps to a number. Elsewhere the value is flagged as far as it can be known.",
         "types", "The end of 9999 in SQL Server's nanoseconds is not a day of 1816"),
    Rule("A second delivery changes nothing",
         "A crash repeats a suffix of the stream. Identity is position, operation, key and content, so rows that merely share a position stay.",
         "re-delivery", "S02 A restart that repeats a suffix changes nothing"),
    Rule("A position may be shared",
         "In one compressed transaction the same change may really happen twice: it counts where its before image is the row that stands.",
         "mysql", "S03 One transaction may do the same thing twice at one position"),
    Rule("A read confirms",
         "A snapshot read of an equal row makes no version.",
         "snapshots", "A read of an equal row confirms it"),
    Rule("A read corrects",
         "Where the row differs, something was missed: the version closes as `snapshot_correction`.",
         "snapshots", "A read of a differing row corrects it"),
    Rule("A complete snapshot sweeps",
         "Only when the connector said COMPLETED do rows that it did not read close, as `snapshot_absent`.",
         "snapshots", "S15 A completed snapshot closes the rows that it did not read"),
    Rule("An incremental read resurrects nothing",
         "It carries the position of the last streamed event, and yields to it.",
         "snapshots", "An incremental read confirms and does not resurrect what the event at its position deleted"),
    Rule("Times are checked",
         "A time that is negative, zero or in the future is not believed: Kafka's time of the first delivery stands in, and `_ts_quality` says so.",
         "times", "A negative time is not believed"),
    Rule("Times of a key never run backwards",
         "A clock that did is raised to the key's last time, and said to be.",
         "times", "A clock that ran backwards is raised to the key's last time, and said to be"),
    Rule("Ignored columns make no version",
         "Their change alone overwrites them in the version that stands; its start stays.",
         "basics", "A change of ignored columns alone overwrites the standing version"),
    Rule("A new column needs no rebuild",
         "It is NULL before it came, and a NULL in it makes no version.",
         "schema", "A new column is NULL before it came"),
    Rule("A type may widen",
         "Integers, decimals and floats become wider: the history is written anew, in one commit. What cannot widen stops that table only, with what to do.",
         "schema", "An integer becomes wider"),
    Rule("A type that cannot widen becomes texts, where the source file says so",
         "`columns` of the table names the column as `string`. Its values are spelled as in keys: a decimal without the zeros at its end, bytes in base64, times as ISO.",
         "schema", "What neither type holds is kept as texts, where the contract says so"),
    Rule("Another key holds the table while rows stand under the old one",
         "Nothing would end them: later changes name the new key. A completed snapshot does, and the table goes on; so it does where deletes or a truncate had ended all of them before.",
         "schema", "A completed snapshot under the new key ends what stands under the old one, and the table goes on"),
    Rule("Columns keep their names",
         "Whatever letters they have. What a history cannot hold stops that table only: columns that differ in capitals alone, or one called like a column of the history's own or of the engine's working columns (they begin with an underscore: `strandline/cells/naming.py`).",
         "schema", "Columns that differ in capitals only stop the table"),
    Rule("Another lineage of the log does not compare",
         "After a failover positions may begin anew. An `[[epoch]]` in the source file says from when; epochs order first. A change that was never seen, behind a newer one of its key in the same partition, shows that the log began anew: the table is held until an epoch is declared. With `hold_regress = false`, and in `strandline history`, it stands where its position says; a warning tells it.",
         "mysql", "S12 After a failover to a lower file the declared epoch orders"),
)  # fmt: skip


def page() -> str:
    """The page as it should be."""
    return INTRODUCTION + "".join(_section(rule) for rule in RULES)


def _section(rule: Rule) -> str:
    connector, text = _case(rule)
    return (
        f"\n## {rule.heading}\n\n{rule.words}\n\n"
        f"`{rule.file}.txt`, {connector}:\n\n```text\n{text}\n```\n"
    )


def _case(rule: Rule) -> tuple[str, str]:
    """The connector and the text of a case."""
    text = (HERE / f"{rule.file}.txt").read_text(encoding="utf-8")
    head, *blocks = re.split(r"^== *", text, flags=re.MULTILINE)
    connector = re.search(r"^connector: +(\w+)", head, flags=re.MULTILINE)
    block = next(b for b in blocks if b.partition("\n")[0].strip() == rule.title)
    lines = [line for line in block.strip().splitlines() if not line.startswith("#")]
    own = next((line.split()[1] for line in lines if line.startswith("connector:")), None)
    return own or (connector[1] if connector else ""), "== " + "\n".join(lines).rstrip()


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
