"""The operator that runs a Spark application of this project."""

import os
import re
import shutil
import socket
import sys
import tempfile
from pathlib import Path
from typing import Any, cast
from urllib.parse import urlsplit

from airflow.providers.apache.spark.operators.spark_submit import SparkSubmitOperator
from airflow.sdk import BaseHook, Connection, Context
from airflow.sdk.exceptions import AirflowException, AirflowNotFoundException

from strandline.errors import Terminal, Transient
from strandline.runs import archive, jars, jvm, spark
from strandline.sources.source import Source
from strandline_airflow.application import applications, pack
from strandline_airflow.submission.driver_log import DriverLog

SUBMIT_VARIABLE = "STRANDLINE_SPARK_SUBMIT"  # as bin/spark-submit knows it

# The task's log is for the run's story.
_CONF = {**spark.SETTINGS, "spark.log.level": "WARN"}

_PACKAGES = "spark.jars.packages"
_IVY = "spark.jars.ivy"

_PATIENCE = 5.0  # seconds for a master to take a connection
_CODE = re.compile(r"(?:Error|exit) code is: (-?[1-9]\d*)")
_NO_COMMAND = "127"  # what a shell ends with where there is no such program


class StrandlineSparkOperator(SparkSubmitOperator):
    """`spark-submit` of `spark_apps/<app>` with the project's own packages as `--py-files`.

    The source's `[spark] conf` overrides the defaults. Raises `Terminal` before anything starts
    where the worker has no Java, or where the Spark connection is missing or names no master: the
    provider alone would submit to YARN then. Raises `Transient` where no standalone master answers,
    and where `spark-submit` fails: in one line, without its arguments, which may hold secrets. What
    the driver has said to do, where it has, is that line, and decides which of the two it is.

    Delta's jars are given as files where this worker has them, so that Spark resolves no package,
    and a local Spark maps its classes from an archive, which its second run on a worker leaves.
    A cluster that runs the driver too resolves the package itself.
    """

    def __init__(self, *, source: Source, app: str, **kwargs: Any) -> None:
        super().__init__(
            application=str(applications() / app),
            name=f"strandline-{Path(app).stem}-{source.name}",
            conn_id=source.spark_connection,
            packages=_packages(source),
            conf={**_CONF, **source.spark_conf},
            spark_binary=str(Path(__file__).with_name("bin") / "spark-submit"),
            # A retry starts anew: to go on with the driver in the cluster the provider would want
            # YARN's REST interface, and without it refuses that deploy mode.
            durable=False,
            **kwargs,
        )
        self._source_packages = source.spark_conf.get(_PACKAGES)

    def execute(self, context: Context) -> None:
        """Submits the application and waits for its end."""
        connection = self._connection()
        master = _master(connection)
        _require_java()
        if master.startswith("spark://"):
            _require_answer(master, self._conn_id)
        # Set late: only the worker that runs the task knows its connection, Python and jars.
        conf, own = self.conf or {}, {}
        if master.startswith("local"):
            own = _own_spark()
            java = jvm.settings(os.environ) if own else {}
            conf = {**spark.LOOPBACK, **java, **conf}
            self.env_vars = {**own, **(self.env_vars or {})}
        found = () if _is_away(connection) else jars.at_hand(os.environ, conf.get(_IVY))
        if found:
            self.packages = self._source_packages
            conf = {**conf, **jars.settings(found, os.environ, conf, local=bool(own))}
        place = archive.place(os.environ, found if own else ())
        with (
            archive.kept(place) as mapped,
            tempfile.TemporaryDirectory(prefix="strandline-") as folder,
        ):
            self.conf = {**mapped, **conf}
            self.py_files = str(pack(Path(folder) / "strandline.zip"))
            self.log.info("Spark starts, with master %s; %s", master, _before(self.packages))
            try:
                super().execute(context)
            except AirflowException as error:
                said = cast("DriverLog", self._hook).last
                raise said or Transient(_why(error, connection)) from None

    def _get_hook(self) -> DriverLog:
        hook = super()._get_hook()
        hook.__class__ = DriverLog  # the provider makes its own, of two dozen arguments
        return cast("DriverLog", hook)

    def _connection(self) -> Connection:
        """The connection of type spark."""
        remedy = (
            f"create it: airflow connections add {self._conn_id} --conn-type spark --conn-host "
            f"'local[*]' (or yarn, k8s://…, spark://…), or set the variable "
            f"AIRFLOW_CONN_{self._conn_id.upper()} to a JSON document with conn_type and host"
        )
        try:
            connection = BaseHook.get_connection(self._conn_id)
        except AirflowNotFoundException as error:
            raise Terminal(
                f"Airflow connection '{self._conn_id}' is missing or not readable; {remedy}"
            ) from error
        if not connection.host:
            raise Terminal(f"Airflow connection '{self._conn_id}' has no host; {remedy}")
        return connection


def _before(packages: str | None) -> str:
    """What the driver waits for before it says something."""
    return f"it fetches {packages} before" if packages else "its driver tells of each table"


def _packages(source: Source) -> str:
    """Delta, and what the source's conf asks for: spark-submit would forget that one."""
    theirs = source.spark_conf.get(_PACKAGES)
    return ",".join(filter(None, (spark.DELTA_PACKAGE, theirs)))


def _master(connection: Connection) -> str:
    """The master as the provider makes it of a connection, which may come from a form or a URI."""
    host, port = connection.host or "", connection.port
    if connection.conn_type != "spark" or (port and "://" not in host):
        host = f"{connection.conn_type}://{host}"
    return f"{host}:{port}" if port else host


def _is_away(connection: Connection) -> bool:
    """Whether the cluster runs the driver as well."""
    return bool(connection.extra_dejson.get("deploy-mode") == "cluster")


def _require_answer(master: str, conn_id: str) -> None:
    """Spark itself asks for minutes, and says of it what nobody understands."""
    silent = []
    for address in master.removeprefix("spark://").split(","):
        try:
            where = urlsplit(f"//{address}")
            host, port = where.hostname, where.port
        except ValueError:
            host = port = None
        if not host or not port:
            raise Terminal(
                f"Airflow connection '{conn_id}': '{master}' is no address of a Spark master: "
                "write spark://HOST:PORT, and further masters after a comma"
            )
        try:
            socket.create_connection((host, port), _PATIENCE).close()
        except OSError as error:
            silent.append(error.strerror or str(error))
        else:
            return
    raise Transient(
        f"Spark master {master} of Airflow connection '{conn_id}' does not answer: "
        f"{', '.join(dict.fromkeys(silent))}; start it, or mend the connection"
    )


def _why(error: AirflowException, connection: Connection) -> str:
    """What became of `spark-submit`. The provider's text has all its arguments in it."""
    code = _CODE.search(str(error))
    if code is None:
        return next(iter(str(error).splitlines()), type(error).__name__)
    if code[1] == _NO_COMMAND:
        return (
            "there is no spark-submit: install pyspark on this worker, or set "
            f"{SUBMIT_VARIABLE} to the path of one"
        )
    where = (
        "is in the cluster (deploy mode cluster), what spark-submit said stands above"
        if _is_away(connection)
        else "stands above, in this task's log"
    )
    return f"spark-submit ended with exit code {code[1]}: the driver's log {where}"


def _require_java() -> None:
    java_home = os.environ.get("JAVA_HOME")
    if java_home:
        if not (Path(java_home) / "bin" / "java").is_file():
            raise Terminal(
                f"JAVA_HOME is {java_home}, but there is no bin/java in it: point it to a Java 17 "
                "or 21 for Spark"
            )
    elif shutil.which("java") is None:
        raise Terminal(
            "Spark needs Java and this worker has none: install Java 17 or 21 (for example "
            "`apt install openjdk-17-jre-headless`), or set JAVA_HOME"
        )


def _own_spark() -> dict[str, str]:
    """The Spark of the environment that runs Airflow, where it has one (pip's pyspark).

    Nothing where somebody has named another one.
    """
    submit = Path(sys.executable).with_name("spark-submit")
    if os.environ.get(SUBMIT_VARIABLE) or not submit.is_file():
        return {}
    return {SUBMIT_VARIABLE: str(submit), "PYSPARK_PYTHON": sys.executable}
