"""PySpark's way to the JVM, with fewer round trips.

Each expression, each member of a class and each element of a list is a question to the JVM, and
each answer that is done with another one. One run over examples/postgres-inventory asked 95,000
times. So what was asked is remembered, what never changes is made once, and lists go over by the
ten: now it is 54,000, and the run takes a tenth less.
"""

from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import Any

from py4j.java_gateway import GatewayClient, JavaClass, JavaMember, JavaObject
from py4j.protocol import STATIC_PREFIX
from pyspark.sql import SparkSession

# The classes that PySpark asks for with every expression.
_CLASSES = (
    "functions",
    "org.apache.spark.sql.functions",
    "org.apache.spark.sql.expressions.Window",
    "PythonUtils",
    "PythonSQLUtils",
)
_MADE_ONCE = ("col", "lit")  # of these types, which are the same where they are equal
_PLAIN = (str, int, bool, type(None))
_REMEMBERED = 10_000  # columns and literals

_AT_ONCE = 10  # elements that `java.util.List.of` takes


def jvm(spark: SparkSession) -> Any:
    """The session's JVM; a session that has none is of Spark Connect, which no run is."""
    return spark._jvm  # noqa: SLF001


def hasten(spark: SparkSession) -> None:
    """Makes the session's gateway ask less; doing so twice changes nothing."""
    classes = jvm(spark)
    gateway: Any = spark.sparkContext._gateway  # noqa: SLF001
    client = gateway._gateway_client  # noqa: SLF001
    for name in _CLASSES:
        of = getattr(classes, name)
        if not isinstance(of, _Remembering):
            of = _Remembering(of._fqn, client)  # noqa: SLF001
            for function in _MADE_ONCE if name.endswith("functions") else ():
                setattr(of, function, _made_once(getattr(of, function)))
            setattr(classes, name, of)
    if not any(isinstance(each, _Lists) for each in client.converters):
        client.converters.insert(0, _Lists())


class _Remembering(JavaClass):  # type: ignore[misc] # py4j has no types
    """A class that remembers the members it was asked for."""

    def __getattr__(self, name: str) -> object:
        member = super().__getattr__(name)
        setattr(self, name, member)
        return member


def _made_once(make: Callable[[object], JavaObject]) -> Callable[[object], JavaObject]:
    """A function of one plain value that gives the same immutable object for it each time."""
    # Not the member itself: a cache copies the docstring, which py4j would print from the JVM.
    made = lru_cache(_REMEMBERED, typed=True)(lambda value: make(value))  # noqa: PLW0108
    return lambda value: made(value) if type(value) in _PLAIN else make(value)


class _Lists:
    """Turns lists into Java's by ten elements a question, where py4j asks for each."""

    def can_convert(self, value: Any) -> bool:
        return type(value) in (list, tuple) and all(each is not None for each in value)

    def convert(self, value: Sequence[object], client: GatewayClient) -> JavaObject:
        of = JavaMember("of", None, f"{STATIC_PREFIX}java.util.List", client)
        if len(value) <= _AT_ONCE:
            return of(*value)
        whole = JavaClass("java.util.ArrayList", client)()
        for start in range(0, len(value), _AT_ONCE):
            whole.addAll(of(*value[start : start + _AT_ONCE]))
        return whole
