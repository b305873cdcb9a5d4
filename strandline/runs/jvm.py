"""Java's options for a Spark driver of one machine, as they were measured (bench/README.md)."""

from collections.abc import Mapping

# On a local disk Hadoop starts `chmod` and `readlink` for each file that it makes: hundreds of them
# a run, each by way of another process unless Java is told otherwise.
FORKING = "-Djdk.lang.Process.launchMechanism=VFORK"
# A run is over before Java has compiled itself, which takes two fifths of its CPU; less where less
# is copied into what is compiled.
_COMPILING = "-XX:MaxInlineLevel=6 -XX:FreqInlineSize=150 -XX:InlineSmallCode=1000"
# Of the heap this collector gives two thirds to what is old, which is what Spark sorts in, six
# tenths; what else grows old would have to do with the rest. So it is four fifths.
_COLLECTING = "-XX:+UseParallelGC -XX:NewRatio=4"
# The classes of a run take 170 MB. Each time that they outgrow what Java expects, which is 21 MB at
# first, it collects everything there is: five times in the first ten seconds.
_LOADING = "-XX:MetaspaceSize=256m"
OPTIONS = f"{FORKING} {_COLLECTING} {_LOADING} {_COMPILING}"

# The variables by which somebody has settings of their own for Spark.
_THEIRS = {"SPARK_CONF_DIR", "SPARK_SUBMIT_OPTS"}


def settings(environment: Mapping[str, str]) -> dict[str, str]:
    """The options as a setting of Spark; none where somebody may have given Java others.

    This one would take the place of theirs, or Java would refuse to start with two collectors.
    """
    return {} if environment.keys() & _THEIRS else {"spark.driver.extraJavaOptions": OPTIONS}
