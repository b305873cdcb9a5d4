"""Spark's own way to a history: AUTO CDC of Spark 4.3, as SCD type 2, in Iceberg tables.

It runs in an environment of its own, since its Spark is a later one. What it cannot say is why a
version ended, nor that a table was truncated; see `bench/README.md`.
"""

import json
import os
import shutil
import subprocess
from pathlib import Path
from typing import ClassVar

from deltalake import DeltaTable

from bench import auto_cdc
from bench.cases import envelope
from bench.cases.columns import COLUMNS
from bench.contenders import events
from bench.contenders.contender import Contender

HOME = Path(__file__).resolve().parents[2] / ".venv/auto-cdc"
_SOURCES = Path(auto_cdc.__file__).parent
_CATALOG, _DATABASE, _SPEC = "lake", "bench", "spark-pipeline.yml"
_SETTINGS = {
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
    "spark.log.level": "ERROR",
    "spark.driver.bindAddress": "127.0.0.1",
    "spark.driver.host": "127.0.0.1",
    "spark.connect.grpc.binding.address": "127.0.0.1",
    "spark.sql.session.timeZone": "UTC",
    "spark.network.timeout": "7200s",
    "spark.executor.heartbeatInterval": "600s",
    f"spark.sql.catalog.{_CATALOG}": "bench.IcebergTables",
    # As with deletion vectors in Delta: rows that end are marked, files are not written anew.
    f"spark.sql.catalog.{_CATALOG}.table-default.format-version": "3",
    f"spark.sql.catalog.{_CATALOG}.table-default.write.merge.mode": "merge-on-read",
}
_VERSION = {column.name: column.name for column in COLUMNS} | {
    "valid_from": "__START_AT.ts_us",
    "valid_to": "__END_AT.ts_us",
    "is_current": "__END_AT IS NULL",
}


class AutoCdc(Contender):
    """One triggered update of a pipeline for each batch, in a Spark that stays.

    Iceberg's tables and the pipeline's checkpoints name their files by whole paths, so each folder
    is worked on under one and the same path: a link that leads to it.
    """

    name: ClassVar[str] = "auto-cdc"
    state: ClassVar[str] = "auto-cdc"
    in_delta: ClassVar[bool] = False
    _applied = False

    @classmethod
    def lacking(cls) -> str | None:
        """See `Contender`."""
        return None if (HOME / ".complete").exists() else "type: make auto-cdc"

    @property
    def _standing(self) -> Path:
        return self.case.folder / "auto-cdc"

    @property
    def _arriving(self) -> Path:
        return self.case.folder / "auto-cdc-arriving"

    def start(self, memory: str, cores: int) -> None:
        """Spark 4.3 with a Connect server, which is what pipelines are run by."""
        settings = _SETTINGS | {
            "spark.driver.memory": memory,
            "spark.driver.extraClassPath": f"{HOME}/classes:{HOME}/jars/*",
            f"spark.sql.catalog.{_CATALOG}.warehouse": f"file://{self._standing}/tables",
        }
        python = str(HOME / "bin/python")
        apart = {key: value for key, value in os.environ.items() if key != "PYTHONPATH"}
        self._server = subprocess.Popen(
            [python, str(_SOURCES / "server.py"), str(cores), json.dumps(settings)],
            env=apart | {"PYSPARK_PYTHON": python},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        self._answer()

    def prepare(self) -> None:
        """The pipeline's files; the base, where there is one, is its first update."""
        self.folder.mkdir(parents=True, exist_ok=True)
        shutil.copy(_SOURCES / "definitions.py", self.folder)
        (self.folder / "told.json").write_text(json.dumps(self._told()))
        spec = {
            "name": "bench",
            "storage": f"file://{self._standing}/storage",
            "catalog": _CATALOG,
            "database": _DATABASE,
            "libraries": [{"glob": {"include": "definitions.py"}}],
        }
        (self.folder / _SPEC).write_text(json.dumps(spec))
        if self.case.shape.base:
            self._update(0)

    def apply(self, batch: int) -> None:
        """The batch's landed files are put where the pipeline looks for them, and it is run."""
        self._update(batch)
        self._applied = True

    def history(self, table: str) -> tuple[str, dict[str, str]]:
        """See `Contender`. It is there once the contender has stopped."""
        return str(self.folder / f"{table}.parquet"), {name: name for name in _VERSION}

    def stop(self) -> None:
        """Writes down the histories that are to be judged, and stops Spark."""
        if self._applied:
            for table in self.case.tables:
                uri, _ = self.history(table)
                name = f"{_CATALOG}.{_DATABASE}.{table}"
                self._do({"export": name, "to": uri, "columns": _VERSION})
        self._standing.unlink(missing_ok=True)
        shutil.rmtree(self._arriving, ignore_errors=True)
        self._server.communicate()

    def _told(self) -> dict[str, object]:
        wrapped = self.case.shape.schemas
        return {
            "source": f"file://{self._arriving}",
            "columns": events.NAMES,
            "topics": {table: envelope.topic(table) for table in self.case.tables},
            "envelope": events.schema(wrapped=wrapped),
            "wrapped": wrapped,
        }

    def _update(self, batch: int) -> None:
        self._standing.unlink(missing_ok=True)
        self._standing.symlink_to(self.folder.absolute())
        shutil.rmtree(self._arriving, ignore_errors=True)
        self._arriving.mkdir()
        for file in self._landed(batch):
            os.link(file, self._arriving / file.name)
        self._do({"update": str(self._standing / _SPEC)})

    def _landed(self, batch: int) -> list[Path]:
        """The files of the landing table that came with a batch."""
        versions = self.case.versions
        now = _files(self.case.landing, versions[batch])
        before = _files(self.case.landing, versions[batch - 1] if batch else 0)
        return sorted(now - before)

    def _do(self, command: dict[str, object]) -> None:
        self._server.stdin.write(json.dumps(command) + "\n")
        self._server.stdin.flush()
        self._answer()

    def _answer(self) -> None:
        if not self._server.stdout.readline():
            raise RuntimeError(f"Spark 4.3 ended with code {self._server.wait()}")


def _files(landing: Path, version: int) -> set[Path]:
    uris = DeltaTable(str(landing), version=version).file_uris()
    return {Path(uri.removeprefix("file://")) for uri in uris}
