"""What the processes of a story do: the code of Airflow's tasks, and of the Spark application."""

import json
import os
import runpy
import sys
from collections.abc import Callable, Mapping
from datetime import datetime
from multiprocessing.connection import Connection
from pathlib import Path

from pyspark import SparkConf, SparkContext
from pyspark.java_gateway import launch_gateway
from pyspark.sql import SparkSession
from stages import airflow_stage
from strandline_airflow.forms import erase, maintain, reconcile, replay, requeue
from strandline_airflow.landing import land_run
from strandline_airflow.runs import alone_run, compact_run, order_run

from chaos import worker
from chaos.doors import Doors, fate_of_environment, of_airflow, of_alone, of_spark
from strandline.sources import source as source_file

assert airflow_stage.HOME  # imported before Airflow, to say where that lives

FORMS = {each.FORM.what: each.FORM for each in (erase, maintain, reconcile, replay, requeue)}
APPLICATION = airflow_stage.PROJECT / "spark_apps" / "compact.py"


def run(
    task: Callable[..., None],
    arguments: tuple[str, ...],
    environment: Mapping[str, str],
    output: str,
    reached: Connection,
) -> None:
    """A task in a process that was forked for it; what it prints goes to the file `output`."""
    os.environ.update(environment)
    printed = os.open(output, os.O_WRONLY | os.O_CREAT | os.O_APPEND)
    for stream in (1, 2):
        os.dup2(printed, stream)
    put = {compaction: of_spark, alone: of_alone}.get(task, of_airflow)
    put(Doors.of_environment(reached.send))
    task(*arguments)


def around(path: str, run_after: str, manifest: str, answer: str) -> None:
    """The tasks between two compactions.

    Publishes the run of `manifest` (unless that is empty), lands what Kafka has, plans the next
    run, and leaves the path of its manifest, empty where there is no news, in the file `answer`.
    """
    source, moment = source_file.load(Path(path)), datetime.fromisoformat(run_after)
    if manifest:
        compact_run.publish(manifest)
    for group in land_run.plan(source, moment).groups:
        land_run.land(source, group, moment)
    Path(answer).write_text(compact_run.plan(source, moment) or "", encoding="utf-8")


def ordered(path: str, run_after: str, what: str, given: str, answer: str) -> None:
    """Plans what a form asks for, and leaves the path of its manifest in the file `answer`."""
    source, moment = source_file.load(Path(path)), datetime.fromisoformat(run_after)
    form = FORMS[what]
    params = {**{name: param.resolve() for name, param in form.params.items()}, "dry_run": False}
    order = form.order(source, params | json.loads(given), moment)
    manifest = order_run.plan(source, order, moment, dry=False)
    Path(answer).write_text(manifest or "", encoding="utf-8")


def published(manifest: str) -> None:
    """Publishes the run of a manifest."""
    compact_run.publish(manifest)


def compaction(manifest: str) -> None:
    """The Spark application, on the JVM that `standing` names; that stays when this ends."""
    _adopt()
    worker.befall(fate_of_environment())
    SparkSession.stop = lambda _: None
    sys.argv = [str(APPLICATION), "--manifest", manifest]
    try:
        runpy.run_path(str(APPLICATION), run_name="__main__")
    except SystemExit as end:
        assert not end.code, "the application failed"  # noqa: PT017 - it always ends like this


def alone(manifest: str) -> None:
    """The task that does without Spark."""
    alone_run.work_off(manifest)


def standing(spark: SparkSession) -> dict[str, str]:
    """The environment of a driver that is to use this session's JVM, as Spark itself sets it."""
    parameters = spark.sparkContext._gateway.gateway_parameters  # noqa: SLF001
    return {
        "PYSPARK_GATEWAY_PORT": str(parameters.port),
        "PYSPARK_GATEWAY_SECRET": parameters.auth_token,
    }


def newest(spark: SparkSession) -> int:
    """The number of the object that the JVM has made last for Python."""
    made = spark.sparkContext._gateway.jvm.java.lang.Object()  # noqa: SLF001
    return int(made._target_id.removeprefix("o"))  # noqa: SLF001


def forget(spark: SparkSession, since: int) -> int:
    """Lets the JVM forget what it made after that for drivers that are gone; the newest number.

    py4j keeps each object until Python lets go of it: a process that was killed never does.
    """
    until = newest(spark)
    client = spark.sparkContext._gateway._gateway_client  # noqa: SLF001
    for number in range(since + 1, until):
        client.garbage_collect_object(f"o{number}", enqueue=False)
    return until


def _adopt() -> None:
    """Takes the JVM's own context, where a new driver would start one."""
    gateway = launch_gateway()
    java = gateway.jvm.org.apache.spark
    context = java.SparkContext.getOrCreate()
    SparkContext(
        conf=SparkConf(_jconf=context.getConf()),
        gateway=gateway,
        jsc=java.api.java.JavaSparkContext(context),
    )
