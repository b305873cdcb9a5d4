"""The page docs/connector-settings.md, written from the rules.

`python -m strandline.advice.page > docs/connector-settings.md` writes it anew; a test holds the
page against the rules.
"""

import re
import sys

from strandline.advice import GROUPS
from strandline.advice.configuration import CLASSES
from strandline.advice.finding import Severity
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
it is absent), what happens, what to do. Passwords and salts are never printed. Settings without a \
rule are not judged. What the database or the worker decides is not in the file: where history \
hangs on it, a note says so.

| | | exit status |
|---|---|---|
| **loses** | changes, ends of rows or NULLs never reach the topic, or cannot be told from others \
there | 2 |
| **blurs** | every change arrives, but a value, a time, the order or the beginning is less exact \
than in the database | 0 |
| **note** | nothing wrong in what arrives; the source file or a person has to know it | 0 |

A file that cannot be read, or is no connector configuration, ends with 2 as well.
"""
_ASSIGNMENT = re.compile(r"[\w.]+=[\w.*]+(?:,[\w.*]+)*")
_HEAD = ("", "connectors", "setting", "found where", "what happens", "what to do")


def page() -> str:
    """The page as Markdown."""
    return "\n".join((_INTRODUCTION, _classes(), *(_group(*group) for group in GROUPS.items())))


def _classes() -> str:
    lines = "\n".join(f"* `{name}` ({family})" for name, family in CLASSES.items())
    return f"Known connector classes:\n\n{lines}\n"


def _group(title: str, rules: tuple[Rule, ...]) -> str:
    ordered = sorted(rules, key=lambda rule: list(Severity).index(rule.severity))
    rows = (_HEAD, ("---",) * len(_HEAD), *(_row(rule) for rule in ordered))
    lines = "\n".join("| " + " | ".join(cells) + " |" for cells in rows)
    return f"## {title}\n\n{lines}\n"


def _row(rule: Rule) -> tuple[str, ...]:
    families = "all" if rule.families == EVERY else ", ".join(rule.families)
    settings = ", ".join(f"`{name}`" for name in rule.condition.setting.split(", "))
    remedy = _ASSIGNMENT.sub(r"`\g<0>`", rule.remedy)
    cells = (rule.severity, families, settings, rule.condition.words, rule.effect, remedy)
    return tuple(cell.replace("|", "\\|") for cell in cells)


if __name__ == "__main__":
    sys.stdout.write(page())
