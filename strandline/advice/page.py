"""The page docs/connector-settings.md, written from the rules.

`python -m strandline.advice.page > docs/connector-settings.md` writes it anew; a test holds the
page against the rules.
"""

import re
import sys
from collections.abc import Iterable

from strandline.advice import GROUPS
from strandline.advice.configuration import CLASSES, Family
from strandline.advice.finding import Severity
from strandline.advice.harmless import HARMLESS
from strandline.advice.judgement import UNKNOWN
from strandline.advice.rule import EVERY, Rule

_INTRODUCTION = """\
<!-- Written from strandline/advice by `python -m strandline.advice.page`; edit the rules there. -->
# Connector settings

What a connector does not send, no later run can bring back. `strandline check` reads the JSON \
configuration of a Debezium connector and says which of its settings lose or blur history, and \
what to set instead:

```
$ strandline check inventory.json
```

The file is what Kafka Connect's REST API takes and gives, `{"name": …, "config": {…}}`, or the \
settings alone. A line is one finding: how much it costs, the setting, its value (`default` where \
it is absent), what happens, what to do. Passwords and salts are never printed. What the database \
or the worker decides is not in the file: where history hangs on it, a note says so. The last line \
says `ok` where everything is judged and nothing is lost. Of tables and topics only those are seen \
that are listed by their names, not by a pattern.

```
$ strandline check inventory.json --source dags/sources/inventory.toml
$ strandline check inventory.json --source dags/sources/inventory.toml --write
```

With `--source` the configuration is held against the source file that reads what the connector \
writes. What the file says is not asked for again; what it says otherwise, and a mode that no \
record shows and that it does not say, are losses. With `--write` the modes are taken over: they \
are put into `[settings]` of the file, defaults too, since a value whose mode is said is never \
guessed at. \
Nothing else of the file is touched, comments stay, and where it says otherwise already, or is \
written in a way that nothing can be put into, it is left as it is. Tables whose rules have \
changed are read once more by the next run.

| | | exit status |
|---|---|---|
| **loses** | changes, ends of rows or NULLs never reach the topic, or cannot be told from others \
there | 2 |
| **blurs** | every change arrives, but a value, a time, the order or the beginning is less exact \
than in the database | 0 |
| **not judged** | nobody has looked at what it does to history: nothing good or bad is said of it \
| 0 |
| **note** | nothing wrong in what arrives; the source file or a person has to know it | 0 |

A file that cannot be read, or is no connector configuration, ends with 2 as well.
"""
_ASSIGNMENT = re.compile(r"[\w.]+=[\w.*]+(?:,[\w.*]+)*")
_HEAD = ("", "connectors", "setting", "found where", "what happens", "what to do")


_NOT_JUDGED = """\
## What is not judged

A setting that is in no table of this page is listed as not judged, and so is a part that no rule \
knows. Its value is not shown, since its name does not say whether it is secret. Connect takes a \
setting that is spelt wrong without a word, so the line names the one that may be meant.
"""
_HARMLESS = """\
## What does nothing to history

Settings that were looked at, and of which there is nothing to tell. `*` stands for any text.
"""


def page() -> str:
    """The page as Markdown."""
    groups = (_group(*group) for group in GROUPS.items())
    return "\n".join((_INTRODUCTION, _classes(), *groups, _not_judged(), _harmless()))


def _not_judged() -> str:
    rows = ((f"`{unknown.kind.setting}`", unknown.effect, unknown.remedy) for unknown in UNKNOWN)
    return f"{_NOT_JUDGED}\n{_table((('of', 'what happens', 'what to do'), *rows))}\n"


def _harmless() -> str:
    rows = (
        (group.about, _families(group.families), ", ".join(f"`{name}`" for name in group.names))
        for group in HARMLESS
    )
    return f"{_HARMLESS}\n{_table((('what it is about', 'connectors', 'settings'), *rows))}\n"


def _classes() -> str:
    lines = "\n".join(f"* `{name}` ({family})" for name, family in CLASSES.items())
    return f"Known connector classes:\n\n{lines}\n"


def _group(title: str, rules: tuple[Rule, ...]) -> str:
    ordered = sorted(rules, key=lambda rule: list(Severity).index(rule.severity))
    return f"## {title}\n\n{_table((_HEAD, *(_row(rule) for rule in ordered)))}\n"


def _table(rows: Iterable[tuple[str, ...]]) -> str:
    head, *rest = rows
    return "\n".join("| " + " | ".join(row) + " |" for row in (head, ("---",) * len(head), *rest))


def _families(families: tuple[Family, ...]) -> str:
    return "all" if families == EVERY else ", ".join(families)


def _row(rule: Rule) -> tuple[str, ...]:
    families = _families(rule.families)
    settings = ", ".join(f"`{name}`" for name in rule.condition.setting.split(", "))
    remedy = _ASSIGNMENT.sub(r"`\g<0>`", rule.remedy)
    cells = (rule.severity, families, settings, rule.condition.words, rule.effect, remedy)
    return tuple(cell.replace("|", "\\|") for cell in cells)


if __name__ == "__main__":
    sys.stdout.write(page())
