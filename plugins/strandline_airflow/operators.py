"""The operator that runs a Spark application of this project."""

import os
import shutil
import sys
import tempfile
import zipfile
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from airflow.providers.apache.spark.operators.spark_submit import SparkSubmitOperator
from airflow.sdk import BaseHook, Context
from airflow.sdk.exceptions import AirflowNotFoundException

from strandline.errors import Terminal
from strandline.source import Source

HOME_VARIABLE = "STRANDLINE_HOME"
DELTA_PACKAGE = "io.delta:delta-spark_4.2_2.13:4.4.0"

_CONF = {
    "spark.sql.extensions": "io.delta.sql.DeltaSparkSessionExtension",
    "spark.sql.catalog.spark_catalog": "org.apache.spark.sql.delta.catalog.DeltaCatalog",
    "spark.sql.session.timeZone": "UTC",
    "spark.scheduler.mode": "FAIR",  # tables run side by side inside one application
    # The defaults (50 and 200) cost seconds a commit on small tables; delta-facts, measured.
    "spark.databricks.delta.snapshotPartitions": "2",
    "spark.sql.shuffle.partitions": "4",
    # The classes that Spark generates for one large table are some hundreds, and it remembers the
    # last hundred: each would be compiled, and warm up, once more for the next table.
    "spark.sql.codegen.cache.maxEntries": "2000",
    # Noting the Python line of every expression, for errors, is more work than the expression.
    "spark.python.sql.dataFrameDebugging.enabled": "false",
    "spark.driver.memory": "2g",
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
    "spark.log.level": "WARN",  # the task's log is for the run's story
}
_LOCAL_CONF = {"spark.driver.bindAddress": "127.0.0.1", "spark.driver.host": "127.0.0.1"}

_EPOCH = (1980, 1, 1, 0, 0, 0)  # the first time that a zip file can hold


class StrandlineSparkOperator(SparkSubmitOperator):
    """`spark-submit` of `spark_apps/<app>` with the project's own packages as `--py-files`.

    The source's `[spark] conf` overrides the defaults. Raises `Terminal` before anything starts
    where the worker has no Java, or where the Spark connection is missing or names no master: the
    provider alone would submit to YARN then.
    """

    def __init__(self, *, source: Source, app: str, **kwargs: Any) -> None:
        super().__init__(
            application=str(applications() / app),
            name=f"strandline-{Path(app).stem}-{source.name}",
            conn_id=source.spark_connection,
            packages=_packages(source),
            conf={**_CONF, **source.spark_conf},
            spark_binary=str(Path(__file__).with_name("bin") / "spark-submit"),
            **kwargs,
        )

    def execute(self, context: Context) -> None:
        """Submits the application and waits for its end."""
        master = self._master()
        _require_java()
        if master.startswith("local"):
            # Set late, because only the worker that runs the task knows its connection and Python.
            self.conf = {**_LOCAL_CONF, **self.conf}
            self.env_vars = {**_own_spark(), **(self.env_vars or {})}
        with tempfile.TemporaryDirectory(prefix="strandline-") as folder:
            self.py_files = str(pack(Path(folder) / "strandline.zip"))
            super().execute(context)

    def _master(self) -> str:
        """The master as the connection names it."""
        remedy = (
            f"create it: airflow connections add {self._conn_id} --conn-type spark --conn-host "
            f"'local[*]' (or yarn, k8s://…, spark://…), or set the variable "
            f"AIRFLOW_CONN_{self._conn_id.upper()} to a JSON document with conn_type and host"
        )
        try:
            host = BaseHook.get_connection(self._conn_id).host or ""
        except AirflowNotFoundException as error:
            raise Terminal(
                f"Airflow connection '{self._conn_id}' is missing or not readable; {remedy}"
            ) from error
        if not host:
            raise Terminal(f"Airflow connection '{self._conn_id}' has no host; {remedy}")
        return host


def home() -> Path | None:
    """The checkout: STRANDLINE_HOME, or where this file lies; None where pip installed it."""
    given = os.environ.get(HOME_VARIABLE)
    folder = Path(given or Path(__file__).resolve().parents[2])
    return folder if given or (folder / "spark_apps").is_dir() else None


def applications() -> Path:
    """The folder of what `spark-submit` runs; pip puts it beside the packages."""
    checkout = home()
    return _installed() / "strandline_apps" if checkout is None else checkout / "spark_apps"


def pack(target: Path) -> Path:
    """Zips the core and the Spark wing for `--py-files`; the same sources give the same bytes."""
    with zipfile.ZipFile(target, "w", zipfile.ZIP_DEFLATED) as archive:
        checkout = home()
        roots = (_installed(),) if checkout is None else (checkout, checkout / "spark_apps")
        for root in roots:
            for file in _sources(root):
                entry = zipfile.ZipInfo(file.relative_to(root).as_posix(), _EPOCH)
                entry.compress_type = zipfile.ZIP_DEFLATED
                archive.writestr(entry, file.read_bytes())
    return target


def _installed() -> Path:
    return Path(__file__).resolve().parents[1]


def _packages(source: Source) -> str:
    """Delta, and what the source's conf asks for: spark-submit would forget that one."""
    return ",".join(filter(None, (DELTA_PACKAGE, source.spark_conf.get("spark.jars.packages"))))


def _sources(root: Path) -> Iterable[Path]:
    packages = (root / name for name in ("strandline", "strandline_spark"))
    return sorted(file for package in packages for file in package.rglob("*.py"))


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
    """The Spark of the environment that runs Airflow, where it has one (pip's pyspark)."""
    submit = Path(sys.executable).with_name("spark-submit")
    if not submit.is_file():
        return {}
    return {"STRANDLINE_SPARK_SUBMIT": str(submit), "PYSPARK_PYTHON": sys.executable}
