"""The logs of tasks, as somebody reads them at three in the morning."""

import logging
import re

import pytest
from airflow.providers.standard.operators.python import PythonOperator
from stages import airflow_stage, shop_stage
from strandline_airflow.dag import source_dags, watch_dag
from strandline_airflow.submission.driver_log import telling

from examples.embedded_kafka import EmbeddedKafka
from strandline.sources import source as source_file

SECRET = "correct horse"  # noqa: S105

# What Spark 4.2 prints, with a package that Ivy has to look for.
STARTED = """\
WARNING: Using incubator modules: jdk.incubator.vector
:: loading settings :: url = jar:file:/pyspark/jars/ivy-2.5.3.jar!/settings/ivysettings.xml
Ivy Default Cache set to: /root/.ivy2.5.2/cache
The jars for the packages stored in: /root/.ivy2.5.2/jars
io.delta#delta-spark_4.2_2.13 added as a dependency
:: resolving dependencies :: org.apache.spark#spark-submit-parent-0aa17860;1.0
\tconfs: [default]
\tfound io.delta#delta-spark_4.2_2.13;4.4.0 in central
You probably access the destination server through a proxy server that is not well configured.
downloading https://repository/io/delta/delta-storage-4.4.0.jar ...
\t[SUCCESSFUL ] io.delta#delta-storage;4.4.0!delta-storage.jar (48ms)
:: resolution report :: resolve 15851ms :: artifacts dl 2792ms
\t:: modules in use:
\tio.delta#delta-storage;4.4.0 from central in [default]
\t---------------------------------------------------------------------
\t|      default     |   37  |   33  |   33  |   4   ||   33  |   32  |
\t---------------------------------------------------------------------

:: problems summary ::
:::: WARNINGS
\tHost repos.spark-packages.org not found. url=https://repos.spark-packages.org/bom.jar
"""
RESOLVED = """\

:: retrieving :: org.apache.spark#spark-submit-parent-0aa17860
\tconfs: [default]
\t33 artifacts copied, 0 already retrieved (96345kB/120ms)
26/11/28 20:59:02 WARN NativeCodeLoader: Unable to load native-hadoop library for your platform...
Using Spark's default log4j profile: org/apache/spark/log4j2-defaults.properties
26/11/28 20:59:04 INFO SparkContext: Running Spark version 4.2.0
26/11/28 20:59:04 INFO SparkContext: OS info Linux, 6.18.44, amd64
26/11/28 20:59:04 INFO SparkContext: Java version 17.0.15+6-Debian-1deb12u1
Setting Spark log level to "WARN".
"""
RAN = """\
2026-11-28 20:59:11,363 INFO Run 1 of shop: compact orders
26/11/28 20:59:12 WARN TaskSetManager: Lost task 0.0 in stage 1.0
\tat org.apache.spark.scheduler.TaskSetManager.handleFailedTask(TaskSetManager.scala:1)

2026-11-28 20:59:13,039 INFO orders: landed 50, changes 46; 0.2 s
"""
UNRESOLVED = """\
\t\t:: io.delta#nope_2.13;4.4.0: not found
Exception in thread "main" java.lang.RuntimeException: [unresolved dependency: io.delta#nope_2.13]
\tat org.apache.spark.util.MavenUtils$.resolveMavenCoordinates(MavenUtils.scala:539)
"""


def told(text):
    return "".join(telling(text.splitlines(keepends=True)))


def test_of_the_start_of_spark_its_version_is_told_and_what_ivy_says_is_not():
    version = "26/11/28 20:59:04 INFO SparkContext: Running Spark version 4.2.0\n"
    assert told(STARTED + RESOLVED + RAN) == version + RAN


def test_what_the_driver_says_is_told_whatever_it_is():
    assert told(RAN) == RAN


def test_packages_that_cannot_be_had_are_told_with_ivys_problems():
    problems = STARTED[STARTED.index(":: problems summary") :]
    assert told(STARTED + UNRESOLVED) == problems + UNRESOLVED


def test_of_a_start_that_ends_in_the_midst_ivys_problems_are_told():
    assert told(STARTED) == STARTED[STARTED.index(":: problems summary") :]


def test_no_task_prints_what_it_hands_on(source_path):
    dags = (*source_dags(source_path), watch_dag([source_file.load(source_path)]))
    tasks = [task for dag in dags for task in dag.tasks if isinstance(task, PythonOperator)]
    assert len(tasks) > 20
    assert [task.task_id for task in tasks if task.show_return_value_in_logs] == []


@pytest.fixture
def shop(tmp_path, monkeypatch):
    """A source without Spark, whose connection has a password that its broker asks nobody for."""
    with (
        EmbeddedKafka() as broker,
        shop_stage.opened(tmp_path, broker, None, 'engine = "alone"\n') as shop,
    ):
        connection = airflow_stage.kafka_connection(
            broker.bootstrap, **{"sasl.username": "ada", "sasl.password": SECRET}
        )
        monkeypatch.setenv("AIRFLOW_CONN_KAFKA_SHOP", connection)
        yield shop


def test_a_source_tells_its_story_and_no_secret(shop, caplog, capfd):
    shop.stream.change("c", 1, 10, name="ada")
    shop.stream.add(b"{}", b"no json")
    with caplog.at_level(logging.INFO):
        shop.land()
        shop.trigger("compact")
    ours = [
        record.getMessage() for record in caplog.records if record.name.startswith("strandline")
    ]
    where = f"{shop.broker.bootstrap} of Airflow connection 'kafka_shop'"
    item = "public.item: landed 2, changes 1, quarantined 1, rows written 1, history rows 1"
    assert [re.sub(r"\d+ bytes|;? (\d+\.\d s|it began at .*)$", "…", line) for line in ours] == [
        "2 partitions: 1 tasks are to land 2 offsets, 0 are left to the next run, 0 gaps",
        f"Reading shop.public.item[0] 0..2 from {where}",
        "Landed 2 records, …, of 1 partitions",
        "Run 1 of shop: compact public.item; landed up to version 1",
        "Run 1 of shop: compact public.item",
        f"{item}, current rows 1…",
        "Run 1 of shop published…",
        f"{item}, current rows 1…",
    ]
    assert SECRET not in caplog.text + "".join(capfd.readouterr())
