"""What a process and everything that it has started use, as Linux counts it in /proc."""

import os
import threading
from collections import defaultdict
from dataclasses import dataclass
from pathlib import Path
from typing import Self

_PAGE = os.sysconf("SC_PAGE_SIZE")
_INTERVAL = 0.1  # seconds between two looks at the memory


@dataclass(frozen=True, slots=True)
class Transferred:
    """Bytes that went through read and write calls, of files, the page cache and pipes alike."""

    read: int
    written: int

    def __sub__(self, other: Self) -> "Transferred":
        return Transferred(self.read - other.read, self.written - other.written)


def members(root: int) -> dict[int, int]:
    """The process and its descendants, those that are alive now, each with its parent."""
    children = defaultdict(list)
    for stat in Path("/proc").glob("[0-9]*/stat"):
        fields = _text(stat).rpartition(")")[2].split()
        if fields:
            children[int(fields[1])].append(int(stat.parent.name))
    found, waiting = {root: 0}, [root]
    for pid in waiting:
        found |= dict.fromkeys(children[pid], pid)
        waiting += children[pid]
    return found


def transferred(root: int) -> Transferred:
    """What the tree has read and written since its members started."""
    read = written = 0
    for pid in members(root):
        counts = dict(line.split(": ") for line in _text(Path(f"/proc/{pid}/io")).splitlines())
        read += int(counts.get("rchar", 0))
        written += int(counts.get("wchar", 0))
    return Transferred(read, written)


def resident(root: int) -> int:
    """Bytes of memory that the tree holds; pages that two of them share count twice.

    But for a child whose address space is its parent's: Java starts programs by vfork.
    """
    parents = members(root)
    sizes = {pid: _text(Path(f"/proc/{pid}/statm")).split() for pid in parents}
    own = (
        size
        for pid, size in sizes.items()
        if size and size[0] != next(iter(sizes.get(parents[pid], ())), None)
    )
    return sum(int(size[1]) for size in own) * _PAGE


class PeakMemory:
    """The most memory that a tree was seen to hold inside the `with` block."""

    def __init__(self, root: int) -> None:
        self._root = root
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._watch, daemon=True)
        self.bytes = 0

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._stop.set()
        self._thread.join()

    def _watch(self) -> None:
        while not self._stop.wait(_INTERVAL):
            self.bytes = max(self.bytes, resident(self._root))


def _text(path: Path) -> str:
    """The file's text; nothing where the process is gone."""
    try:
        return path.read_text()
    except (FileNotFoundError, ProcessLookupError):
        return ""
