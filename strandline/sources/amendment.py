"""A source file with more in its `[settings]`, and nothing else of it changed.

The text stays as a person wrote it, comments and all: lines are put in, none is touched. What comes
out is read again, and has to say exactly what was there and what was added, or it is refused.
"""

import copy
import os
import re
import shutil
import tempfile
import tomllib
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from strandline.errors import SpecError
from strandline.sources import settings, source
from strandline.sources.mistakes import Mistakes
from strandline.sources.section import Section

_TITLE = "settings"
_HEADER = re.compile(rf"^[ \t]*\[[ \t]*{_TITLE}[ \t]*\][ \t]*(#.*)?\r?\n?$")
_BOM = "\ufeff"


def amend(path: Path, wanted: Mapping[str, str]) -> tuple[str, ...]:
    """Adds to a source file what its `[settings]` lack; gives the lines that were put in.

    Raises `SpecError`, and leaves the file as it is, where it says something else already or where
    lines cannot be put in safely.
    """
    source.load(path, {source.LAKE_VARIABLE: "."})  # what is no source file is not touched
    with path.open(encoding="utf-8", newline="") as file:
        text = file.read()
    new, lines = amended(text, path, wanted)
    if lines:
        source.parse(new.removeprefix(_BOM), path, {source.LAKE_VARIABLE: "."})
        _replace(path.resolve(), new)
    return lines


def amended(text: str, path: Path, wanted: Mapping[str, str]) -> tuple[str, tuple[str, ...]]:
    """The text with what its `[settings]` lack, and the lines that were put in."""
    document = tomllib.loads(text.removeprefix(_BOM))
    said = dict(settings.of(Section(Mistakes(path), f"[{_TITLE}]", dict(document.get(_TITLE, {})))))
    for name, value in wanted.items():
        if name in said and not settings.same(said[name], value):
            raise SpecError(
                f"{path}: [{_TITLE}]: {name} is '{said[name]}', the connector has '{value}': "
                "change it by hand, once you know which is right"
            )
    added = {name: value for name, value in wanted.items() if name not in said}
    lines = tuple(f'{name} = "{value}"' for name, value in added.items())
    if not lines:
        return text, ()
    expected = copy.deepcopy(document)
    for name, value in added.items():
        _put(expected.setdefault(_TITLE, {}), name, value)
    for new in _candidates(text, lines):
        if _says(new, expected):
            return new, lines
    raise SpecError(
        f"{path}: [{_TITLE}] is written in a way that nothing can be put into: "
        f"add by hand {'; '.join(lines)}"
    )


def _candidates(text: str, lines: tuple[str, ...]) -> Iterator[str]:
    """The lines below the section's header, where it has one, or in a section at the end."""
    end = "\r\n" if "\r\n" in text else "\n"
    block = "".join(f"{line}{end}" for line in lines)
    rows = text.splitlines(keepends=True)
    for number, row in enumerate(rows, 1):
        if _HEADER.match(row):
            head = row if row.endswith("\n") else f"{row}{end}"
            yield "".join((*rows[: number - 1], head, block, *rows[number:]))
    gap = end if text.endswith("\n") else end * 2
    yield f"{text}{gap}[{_TITLE}]{end}{block}"


def _says(text: str, expected: Mapping[str, Any]) -> bool:
    try:
        return tomllib.loads(text.removeprefix(_BOM)) == expected
    except tomllib.TOMLDecodeError:
        return False


def _put(section: dict[str, Any], name: str, value: str) -> None:
    *path, last = name.split(".")
    for part in path:
        section = section.setdefault(part, {})
    section[last] = value


def _replace(path: Path, text: str) -> None:
    """The file is the old one or the new one, whenever somebody looks."""
    new: Path | None = None
    try:
        handle, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
        new = Path(name)
        with os.fdopen(handle, "w", encoding="utf-8", newline="") as file:
            file.write(text)
        shutil.copymode(path, new)
        new.replace(path)
    except OSError as error:
        if new is not None:
            new.unlink(missing_ok=True)
        raise SpecError(f"{path}: cannot be written: {error.strerror}") from error
