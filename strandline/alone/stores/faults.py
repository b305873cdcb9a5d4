"""What goes wrong with the tables and files of a lake, in words: the place, and what to do.

Patterns are of what delta-rs says (deltalake 1.6, with object_store 0.13).
"""

import re
from collections.abc import Iterator
from contextlib import contextmanager

from deltalake.exceptions import DeltaError

from strandline.errors import BeyondAloneError, StrandlineError, Terminal, Transient

# What a file system or an object store says where the same call cannot succeed later.
_DENIED = (
    "Could not create local directory",
    "Not a directory",
    "Permission denied",
    "Read-only file system",
    "AccessDenied",
    "Forbidden",
    "Unauthorized",
    "ExpiredToken",  # of credentials for a time, which S3 refuses with status 400
    "Unknown scheme",
    "an error occurred while loading credentials",
)

# What the system says where there is no room: on the disk, in a quota, in what a process may write.
_FULL = re.compile(r"No space left on device|Disk quota exceeded|File too large")

# What is said of a store that gave no answer, or none for now, when it had been asked again, too.
_AWAY = re.compile(
    r"(?:Error performing (\w+) (\S+) in .*?)?"
    r"(?:status code: ((?:5\d\d|429)[\w ]*)|HTTP error: (error sending request|[\w ]*timed out))"
)

# What delta-rs puts between the causes of an error, for a terminal: a coloured arrow.
_ARROW = re.compile(r"\s*\x1b\[\d+m\S\x1b\[0m\s*")

# The stack that may follow: it says nothing without the library's own symbols.
_TRACE = re.compile(r"\n\s*0: .*", re.DOTALL)

# The document in which S3 says why: its code and message are enough, the rest is of the request.
_DOCUMENT = re.compile(
    r"(?:<\?xml[^>]*>\s*)?<Error>.*?<Code>(.*?)</Code>.*?<Message>(.*?)</Message>.*?"
    r"(?:</Error>|$)",
    re.DOTALL,
)

# What is said of a data file that the log names, and that is not there or none.
_LOST = re.compile(r"Failed to fetch metadata for file (\S+): (?:[\w ]+ error: )*(.*)")

# What is said of a commit that was made here, and that a listing of the log has not.
_BEHIND = re.compile(
    r"no new commits were found after existing snapshot|LogSegment end version \d+ not the same"
)

# What delta-rs says of a table with features that came after it.
_UNKNOWN = "Unsupported table features"

_ROOT = "set another root (STRANDLINE_LAKE, or 'lake' in the source's file)"


@contextmanager
def explained(uri: str) -> Iterator[None]:
    """delta-rs's errors as ours, with the place and what to do; that of a missing file stays."""
    try:
        yield
    except FileNotFoundError:
        raise
    except Exception as error:
        # Queries, which delta-rs leaves to another library, fail with an exception of no class.
        if not isinstance(error, DeltaError | OSError) and type(error) is not Exception:
            raise
        raise _told(uri, error) from error


def is_denied(error: Exception | str) -> bool:
    """Whether the lake refuses this process, so that the same call cannot succeed later."""
    return any(sign in str(error) for sign in _DENIED)


def refused(uri: str, said: str) -> Terminal:
    """What a lake said that does not let this process do something."""
    return Terminal(f"the lake cannot be used at {uri}: {said}; {_way_in(uri)}, or {_ROOT}")


def absent(uri: str, operation: str, why: str) -> Transient:
    """That the lake's store gave no answer to an operation, or none for now."""
    return Transient(
        f"the lake's store does not do {operation} for {uri} now ({why}): the next attempt does "
        "the rest; where it lasts, see that the store is up and can be reached from here"
    )


def _told(uri: str, error: Exception) -> StrandlineError:
    said = _DOCUMENT.sub(r"\1: \2", _TRACE.sub("", _ARROW.sub(": ", str(error))))
    line = said.replace("\n", " ").strip()
    if is_denied(error):
        return refused(uri, line)
    full, away, lost = _FULL.search(line), _AWAY.search(line), _LOST.search(line)
    if full is not None:
        return Transient(
            f"there is no room at {uri}: {full[0]}; make room there: the next attempt does the rest"
        )
    if away is not None:
        operation = f"{away[1]} {away[2]}" if away[1] else "what it was asked"
        return absent(uri, operation, away[3] or away[4])
    if lost is not None:
        return Transient(
            f"Delta table {uri}: its file {lost[1]} cannot be read ({lost[2]}): restore it, and "
            "the next attempt goes on"
        )
    if _BEHIND.search(line):
        return Transient(
            f"Delta table {uri}: the lake's store does not list a commit that it has taken ({line})"
            ": the next attempt looks again; a store whose listings lag is slow for a lake"
        )
    if _UNKNOWN in line:
        return BeyondAloneError(
            f"Delta table {uri}: {line.rpartition(': ')[2]} is not known to delta-rs, which reads "
            "it here (a table whose column was widened has TypeWidening): read it with Spark"
        )
    return Transient(f"Delta table {uri}: {line}")


def _way_in(uri: str) -> str:
    if "://" in uri and not uri.startswith("file:"):
        return (
            "see that the credentials of its store have not expired and may read, list, write and "
            "delete there (executors of a cluster need them, too: docs/deploy/lake.md)"
        )
    return "make it a folder that this process may write"
