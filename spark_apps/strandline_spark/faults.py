"""What goes wrong with a lake under Spark, in the words in which it is told without Spark.

An error of a task, and what S3A says of a store, are somewhere in the stack of an error of Java's.
Patterns are of Spark 4.2 and of hadoop-aws 3.5.
"""

import re
from collections.abc import Iterator
from contextlib import contextmanager

from py4j.protocol import Py4JJavaError
from pyspark.errors import PySparkException
from pyspark.errors.exceptions.captured import CapturedException

from strandline.alone.stores.faults import absent, is_denied, refused
from strandline.errors import StrandlineError, Terminal, Transient

# The last line of a task's traceback: one of the project's errors, which says what to do.
_RAISED = re.compile(r"^\s*strandline[\w.]*\.(\w+): (.+)$", re.MULTILINE)
_TERMINAL = {Terminal.__name__, *(each.__name__ for each in Terminal.__subclasses__())}

# What S3A could not do with an object, and what the client of S3 said.
_ASKED = re.compile(r"([A-Za-z][\w ]* on \S+): software\.amazon\.[\w.]+: (.+)")
_READ = re.compile(r"error (accessing \S+), (?:request )?failed with: (.+)")
_STATUS = re.compile(r"Status Code: (\d+)")
_DETAILS = re.compile(r"(?: *\((?:Service|SDK)[^)]*\))+.*")

# What S3A says where it found no credentials.
_UNKNOWN = re.compile(r"NoAuthWithAWSException: (.+)|(No AWS Credentials provided .+)")

# What Spark says where the Python of its tasks is another one than the driver's, or has less.
_PYTHON = re.compile(
    r"ModuleNotFoundError: [^\n]*|PYTHON_VERSION_MISMATCH|Cannot run program [^\n]*"
)


@contextmanager
def explained(lake: str) -> Iterator[None]:
    """Errors of Spark that say what went wrong with the lake, as ours; all others stay."""
    try:
        yield
    except (PySparkException, Py4JJavaError) as error:
        known = _known(lake, _stack(error))
        if known is None:
            raise
        raise known from None  # whose text says it all, which a stack of Java would bury


def _stack(error: Exception) -> str:
    """The error with all its causes, as Java prints them."""
    stack = error._stackTrace if isinstance(error, CapturedException) else ""  # noqa: SLF001
    return f"{error}\n{stack}"


def strange_python(said: str) -> Terminal | None:
    """Where Spark says that the Python of its tasks is none that Strandline runs in."""
    sign = _PYTHON.search(said)
    if sign is None:
        return None
    return Terminal(
        f"the Python of Spark's executors does not do for Strandline ({sign[0]}): give them "
        "one that has what requirements.txt names (PYSPARK_PYTHON, docs/deploy.md). The next "
        "attempt does what is left"
    )


def _known(lake: str, said: str) -> StrandlineError | None:
    raised, python = _RAISED.search(said), strange_python(said)
    if raised is not None:
        return (Terminal if raised[1] in _TERMINAL else Transient)(raised[2])
    if python is not None:
        return python
    asked, unknown = _ASKED.search(said) or _READ.search(said), _UNKNOWN.search(said)
    if asked is not None:
        return _of_store(lake, asked[1].strip(), asked[2])
    return None if unknown is None else refused(lake, unknown[1] or unknown[2])


def _of_store(lake: str, operation: str, said: str) -> StrandlineError | None:
    status = _STATUS.search(said)
    line = _DETAILS.sub("", said)
    code = "no answer" if status is None else status[1]
    # A HEAD is answered without a document, so that of credentials that have ended is said no more.
    if code in {"401", "403"} or is_denied(said) or line.startswith("Bad Request"):
        return refused(lake, f"{operation}: {code} {line}")
    if status is None or code == "429" or code.startswith("5"):
        return absent(lake, operation, f"{code}, {line}")
    return None
