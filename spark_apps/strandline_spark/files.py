"""Small text files, and folders, wherever the lake is, by Spark's own Hadoop clients."""

from collections.abc import Iterator
from typing import Any

from pyspark.sql import SparkSession

from strandline_spark import gateway


def read_text(spark: SparkSession, uri: str) -> str:
    """The whole file as text; `FileNotFoundError` where there is none."""
    jvm, path, system = _opened(spark, uri)
    if not system.exists(path):
        raise FileNotFoundError(uri)
    stream = system.open(path)
    try:
        return str(jvm.org.apache.commons.io.IOUtils.toString(stream, "UTF-8"))
    finally:
        stream.close()


def exists(spark: SparkSession, uri: str) -> bool:
    """Whether there is such a file."""
    _, path, system = _opened(spark, uri)
    return bool(system.exists(path))


def write_text(spark: SparkSession, uri: str, text: str) -> None:
    """Replaces the file. Who dies over it may leave a part, which the next attempt replaces."""
    _, path, system = _opened(spark, uri)
    stream = system.create(path, True)
    try:
        stream.write(text.encode())
    finally:
        stream.close()


def below(spark: SparkSession, uri: str) -> Iterator[str]:
    """The URIs of all files in a folder, however deep."""
    _, path, system = _opened(spark, uri)
    found = system.listFiles(path, True)
    while found.hasNext():
        yield str(found.next().getPath().toString())


def remove(spark: SparkSession, uri: str) -> None:
    """Deletes a folder with all that is in it, where there is one."""
    _, path, system = _opened(spark, uri)
    system.delete(path, True)


def _opened(spark: SparkSession, uri: str) -> tuple[Any, Any, Any]:
    """The JVM, the path and its file system; PySpark has no other door to single files."""
    jvm = gateway.jvm(spark)
    path = jvm.org.apache.hadoop.fs.Path(uri)
    return jvm, path, path.getFileSystem(spark._jsc.hadoopConfiguration())  # noqa: SLF001
