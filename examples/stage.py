"""The stage on which the demo and `make up` play: folders, brokers, Airflow's environment."""

import json
import os
import shutil
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path

from examples import jvm
from examples.broker import Broker
from examples.captures import CAPTURES, Capture, named
from examples.embedded_kafka import EmbeddedKafka
from examples.registry import serving
from strandline.runs.lake import SourceLake
from strandline.sources.source import LAKE_VARIABLE

PROJECT = Path(__file__).resolve().parents[1]
SPARK_CONNECTION = "AIRFLOW_CONN_SPARK_DEFAULT"


@dataclass(frozen=True, slots=True)
class Stage:
    """A folder that holds all state of a play."""

    folder: Path

    @property
    def lake(self) -> Path:
        """The lake of all sources."""
        return self.folder / "lake"

    @property
    def logs(self) -> Path:
        """Where everything noisy goes."""
        return self.folder / "logs"

    def source_lake(self, capture: Capture) -> SourceLake:
        """The tables of one source."""
        return SourceLake(str(self.lake), capture.source)

    def clear(self) -> None:
        """Removes what an earlier play left."""
        shutil.rmtree(self.folder, ignore_errors=True)
        self.logs.mkdir(parents=True)

    def environment(self, airflow_home: Path, connections: Mapping[str, str]) -> dict[str, str]:
        """The variables of an Airflow process: this project's DAGs, these connections.

        Airflow finds everything in them, as it would in a deployment; the DAGs are the ordinary
        ones. Variables of an Airflow or a Spark that this user may have besides do not get in.
        """
        own = {name: value for name, value in os.environ.items() if not _is_others(name)}
        return own | {
            # Airflow and the provider start programs of this environment by name.
            "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ.get('PATH', '')}",
            "AIRFLOW_HOME": str(airflow_home),
            "AIRFLOW__CORE__DAGS_FOLDER": str(PROJECT / "dags"),
            "AIRFLOW__CORE__LOAD_EXAMPLES": "False",
            "AIRFLOW__DATABASE__SQL_ALCHEMY_CONNECT_ARGS": "examples.metadata.CONNECT_ARGS",
            "AIRFLOW__DATABASE__SQL_ALCHEMY_CONNECT_ARGS_ASYNC": "examples.metadata.CONNECT_ARGS",
            "PYTHONPATH": f"{PROJECT}{os.pathsep}{PROJECT / 'plugins'}",
            "STRANDLINE_HOME": str(PROJECT),
            "SPARK_SUBMIT_OPTS": jvm.options(),
            "SPARK_LOCAL_IP": "127.0.0.1",
            "SPARK_LOCAL_DIRS": str(self.folder / "spark"),
            LAKE_VARIABLE: str(self.lake),
            SPARK_CONNECTION: json.dumps({"conn_type": "spark", "host": "local[*]"}),
            **connections,
        }


@dataclass(frozen=True, slots=True)
class Surroundings:
    """What the sources are connected to: each one's broker, and the address of its registry."""

    kafka: Mapping[str, Broker]
    registries: Mapping[str, str]

    def connections(self) -> dict[str, str]:
        """The variables of an Airflow process that are its connections."""
        kafka = {
            named(source).connection: {
                "conn_type": "kafka",
                "extra": {"bootstrap.servers": broker.bootstrap},
            }
            for source, broker in self.kafka.items()
        }
        registries = {
            named(source).registry: {"conn_type": "http", "host": address}
            for source, address in self.registries.items()
        }
        return {
            f"AIRFLOW_CONN_{name.upper()}": json.dumps(connection)
            for name, connection in (kafka | registries).items()
        }


@contextmanager
def surroundings(new_broker: Callable[[], Broker] = EmbeddedKafka) -> Iterator[Surroundings]:
    """A broker per capture with that capture's topics, and a registry where it needs one.

    One each, because the databases were recorded under the same topic prefix.
    """
    with ExitStack() as running:
        kafka, registries = {}, {}
        for capture in CAPTURES:
            broker = running.enter_context(new_broker())
            broker.create_topics_of(capture.records())
            kafka[capture.source] = broker
            if capture.schemas is not None:
                registries[capture.source] = running.enter_context(serving(capture.schemas))
        yield Surroundings(kafka, registries)


def _is_others(name: str) -> bool:
    return name.startswith(("AIRFLOW_", "STRANDLINE_")) or name == "SPARK_CONF_DIR"
