"""Small text files on whatever file system the lake is on, by Spark's own Hadoop clients."""

from pyspark.sql import SparkSession


def read_text(spark: SparkSession, uri: str) -> str:
    """The whole file as text."""
    return str(spark.read.text(uri, wholetext=True).first()[0])


def write_text(spark: SparkSession, uri: str, text: str) -> None:
    """Replaces the file; a reader sees the old text or the new, on stores that can do that."""
    jvm = spark._jvm  # noqa: SLF001 - pyspark has no other way to write one file
    path = jvm.org.apache.hadoop.fs.Path(uri)
    system = path.getFileSystem(spark._jsc.hadoopConfiguration())  # noqa: SLF001
    stream = system.create(path, True)
    try:
        stream.write(text.encode())
    finally:
        stream.close()
