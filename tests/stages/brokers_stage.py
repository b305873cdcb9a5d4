"""Apache Kafka of three brokers, each a controller too, any of which may be killed."""

import os
import shutil
import signal
import socket
import subprocess
import tempfile
import time
from contextlib import ExitStack
from pathlib import Path

from confluent_kafka import (
    ElectionType,
    KafkaError,
    KafkaException,
    TopicCollection,
    TopicPartition,
)
from confluent_kafka.admin import AdminClient, NewTopic

from examples import keeper, sessions
from examples.apache_kafka import LIBRARIES
from examples.broker import Broker

NODES = (1, 2, 3)
_SECONDS = 90
_CLUSTER = "strandlineThreeBrokers"  # an id as Kafka spells them
_PROPERTIES = """\
process.roles=broker,controller
node.id={node}
controller.quorum.voters={voters}
listeners=PLAINTEXT://127.0.0.1:{port},CONTROLLER://127.0.0.1:{controller}{listener}
controller.listener.names=CONTROLLER
listener.security.protocol.map=PLAINTEXT:PLAINTEXT,CONTROLLER:PLAINTEXT,PASSWORD:SASL_SSL
log.dirs={folder}/log
log.retention.ms=-1
log.message.timestamp.after.max.ms=9223372036854775807
auto.create.topics.enable=false
auto.leader.rebalance.enable=false
default.replication.factor=3
min.insync.replicas=2
num.network.threads=2
num.io.threads=2
log.cleaner.enable=false
broker.session.timeout.ms=3000
broker.heartbeat.interval.ms=500
offsets.topic.num.partitions=1
transaction.state.log.num.partitions=1
"""


class ThreeBrokers(Broker):
    """Topics have three replicas, two of which have to be in sync for a record to be taken."""

    listener = ""  # one more, by node
    properties = ""

    def _begin(self) -> None:
        self.folder = Path(tempfile.mkdtemp(prefix="strandline-brokers-"))
        self._keepers = {}
        ports = _free_ports(9)
        clients, controllers, self.others = (ports[at : at + 3] for at in (0, 3, 6))
        self.bootstrap = ",".join(f"127.0.0.1:{port}" for port in clients)
        self.by_password = ",".join(f"127.0.0.1:{port}" for port in self.others)
        voters = ",".join(
            f"{node}@127.0.0.1:{port}" for node, port in zip(NODES, controllers, strict=True)
        )
        for at, node in enumerate(NODES):
            (self.folder / str(node)).mkdir()
            settings = (_PROPERTIES + self.properties).format(
                node=node,
                voters=voters,
                port=clients[at],
                controller=controllers[at],
                folder=self.folder / str(node),
                listener=self.listener.format(port=self.others[at]),
            )
            self._settings(node).write_text(settings)
            self._format(node)
        for node in NODES:
            self.start(node)
        self.admin = AdminClient({"bootstrap.servers": self.bootstrap, "log_level": 0})
        self.until(lambda: len(self.admin.list_topics(timeout=_SECONDS).brokers) == len(NODES))

    def _end(self) -> None:
        sessions.end(self._keepers.values(), signal.SIGKILL)
        shutil.rmtree(self.folder)

    def start(self, node: int) -> None:
        """Starts a broker on what it had, without waiting for it."""
        command = _java("kafka.Kafka", str(self._settings(node)))
        self._keepers[node] = keeper.started(
            {"kafka": command}, os.environ, self.folder / str(node)
        )

    def kill(self, node: int) -> None:
        """Ends a broker with SIGKILL."""
        sessions.end([self._keepers.pop(node)], signal.SIGKILL)

    def create_topic(self, name: str, partitions: int = 1, **config: str) -> None:
        topic = NewTopic(name, partitions, len(NODES), config=config)
        self.admin.create_topics([topic])[name].result(_SECONDS)
        self._topics.add(name)
        self.until(
            lambda: [len(each.isr) for each in self.partitions(name)] == [len(NODES)] * partitions
        )

    def create_topic_on(self, name: str, nodes: list[int]) -> None:
        """A topic of one partition with replicas there, one of which is enough to take records."""
        config = {"min.insync.replicas": "1"}
        topic = NewTopic(name, 1, replica_assignment=[nodes], config=config)
        self.admin.create_topics([topic])[name].result(_SECONDS)
        self._topics.add(name)
        self.until(lambda: [len(each.isr) for each in self.partitions(name)] == [len(nodes)])

    def is_up(self, node: int) -> bool:
        """Whether the cluster counts the broker among those that answer."""
        return node in self.admin.list_topics(timeout=5).brokers

    def delete_topic(self, name: str) -> None:
        """Deletes the topic; creating it again gives it another id."""
        self.admin.delete_topics([name])[name].result(_SECONDS)
        self._topics.discard(name)
        self._open()

    def partitions(self, topic: str) -> list:
        """What a broker says of the partitions; nothing where it has not heard of the topic yet."""
        asked = self.admin.describe_topics(TopicCollection([topic]), request_timeout=5)[topic]
        try:
            return asked.result(_SECONDS).partitions
        except KafkaException as error:
            if error.args[0].code() != KafkaError.UNKNOWN_TOPIC_OR_PART:
                raise
            return []

    def leader(self, topic: str) -> int | None:
        """The node that leads partition 0; None where there is none."""
        leader = next(iter(self.partitions(topic))).leader
        return leader.id if leader is not None and leader.id in NODES else None

    def elect_uncleanly(self, topic: str) -> None:
        """Has any replica lead partition 0, whatever it lacks."""
        places = [TopicPartition(topic, 0)]
        self.admin.elect_leaders(ElectionType.UNCLEAN, places).result(_SECONDS)

    def until(self, holds) -> None:
        """Asks the cluster until it is as a test needs it, again where a broker died over it."""
        deadline = time.monotonic() + _SECONDS
        while True:
            try:
                if holds():
                    return
            except KafkaException as error:
                if error.args[0].code() not in (KafkaError._TRANSPORT, KafkaError._TIMED_OUT):  # noqa: SLF001 - public names
                    raise
            if time.monotonic() > deadline:
                raise TimeoutError(f"the brokers of {self.folder} did not get there")
            time.sleep(0.2)

    def _settings(self, node: int) -> Path:
        return self.folder / str(node) / "server.properties"

    def _format(self, node: int) -> None:
        settings = str(self._settings(node))
        command = _java("kafka.tools.StorageTool", "format", "-t", _CLUSTER, "-c", settings)
        with (self.folder / str(node) / "format.log").open("wb") as log:
            subprocess.run(command, stdout=log, stderr=log, timeout=_SECONDS, check=True)


def _java(main: str, *arguments: str) -> list[str]:
    home = os.environ.get("JAVA_HOME")
    java = str(Path(home) / "bin" / "java") if home else "java"
    cheap = ("-Xmx256m", "-XX:+UseSerialGC", "-Xshare:auto", "-XX:TieredStopAtLevel=1")
    return [java, *cheap, "-cp", f"{LIBRARIES}/*", main, *arguments]


def _free_ports(count: int) -> list[int]:
    with ExitStack() as free:
        ports = [free.enter_context(socket.socket()) for _ in range(count)]
        for each in ports:
            each.bind(("127.0.0.1", 0))
        return [each.getsockname()[1] for each in ports]
