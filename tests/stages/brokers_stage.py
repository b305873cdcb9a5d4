"""Apache Kafka of three brokers, each a controller too, any of which may be killed."""

import os
import shutil
import signal
import subprocess
import tempfile
import time
from pathlib import Path

from confluent_kafka import ElectionType, KafkaError, KafkaException, TopicPartition
from confluent_kafka.admin import AdminClient, NewTopic

from examples import keeper, sessions
from examples.apache_kafka import cluster, free_ports, java
from examples.broker import Broker

NODES = (1, 2, 3)
_SECONDS = 90  # until the cluster is as a test needs it
_ANSWER_SECONDS = 5
_IN_TIME = {"request_timeout": _ANSWER_SECONDS}
_PROPERTIES = """\
process.roles=broker,controller
node.id={node}
controller.quorum.voters={voters}
listeners=PLAINTEXT://127.0.0.1:{port},CONTROLLER://127.0.0.1:{controller}
controller.listener.names=CONTROLLER
listener.security.protocol.map=PLAINTEXT:PLAINTEXT,CONTROLLER:PLAINTEXT
log.dirs={folder}/log
log.retention.ms=-1
log.message.timestamp.after.max.ms=9223372036854775807
log.cleaner.enable=false
auto.create.topics.enable=false
auto.leader.rebalance.enable=false
default.replication.factor=3
min.insync.replicas=2
num.network.threads=1
num.io.threads=2
broker.session.timeout.ms=3000
broker.heartbeat.interval.ms=500
offsets.topic.num.partitions=1
transaction.state.log.num.partitions=1
"""
_CHEAP = ("-Xmx192m", "-XX:TieredStopAtLevel=1", "-Xshare:auto")


class ThreeBrokers(Broker):
    """Topics have three replicas, two of which have to be in sync for a record to be taken."""

    def _begin(self) -> None:
        self.folder = Path(tempfile.mkdtemp(prefix="strandline-brokers-"))
        self._keepers = {}
        ports = free_ports(2 * len(NODES))
        clients, controllers = ports[: len(NODES)], ports[len(NODES) :]
        self.bootstrap = ",".join(f"127.0.0.1:{port}" for port in clients)
        voters = ",".join(
            f"{node}@127.0.0.1:{port}" for node, port in zip(NODES, controllers, strict=True)
        )
        for node, port, controller in zip(NODES, clients, controllers, strict=True):
            folder = self.folder / str(node)
            folder.mkdir()
            self._settings(node).write_text(
                _PROPERTIES.format(
                    node=node, voters=voters, port=port, controller=controller, folder=folder
                )
            )
        self._format()
        for node in NODES:
            self.start(node)
        self.admin = AdminClient({"bootstrap.servers": self.bootstrap, "log_level": 0})
        self.until(self._takes_topics)

    def _end(self) -> None:
        sessions.end(self._keepers.values(), signal.SIGKILL)
        shutil.rmtree(self.folder)

    def start(self, node: int) -> None:
        """Starts a broker on what it had, without waiting for it."""
        command = java("kafka.Kafka", str(self._settings(node)), options=_CHEAP)
        self._keepers[node] = keeper.started(
            {"kafka": command}, os.environ, self.folder / str(node)
        )

    def kill(self, node: int) -> None:
        """Ends a broker with SIGKILL."""
        sessions.end([self._keepers.pop(node)], signal.SIGKILL)

    def mend(self) -> None:
        """Starts the brokers that are dead, and waits until each has all that it is to have."""
        for node in set(NODES) - self._keepers.keys():
            self.start(node)
        self.until(lambda: self.alive() == set(NODES) and self._is_whole())

    def create_topic(self, name: str, partitions: int = 1) -> None:
        """A topic whose partitions have a replica on each broker, and each another first leader."""
        self.place_topic(name, [[*NODES[at % 3 :], *NODES[: at % 3]] for at in range(partitions)])

    def place_topic(self, name: str, replicas: list[list[int]], **config: str) -> None:
        """A topic whose partitions have replicas on these brokers, the first of which leads."""
        topic = NewTopic(name, len(replicas), replica_assignment=replicas, config=config)
        self.until(lambda: _done(self.admin.create_topics([topic], **_IN_TIME)))
        self._topics.add(name)
        self.until(lambda: [self.in_sync(name, at) for at in range(len(replicas))] == replicas)

    def delete_topic(self, name: str) -> None:
        """Deletes the topic; creating it again gives it another id."""
        self.until(lambda: _done(self.admin.delete_topics([name], **_IN_TIME)))
        self.until(lambda: not self._partitions(name))
        self._topics.discard(name)
        self._open()

    def elect_uncleanly(self, topic: str, node: int) -> None:
        """Has a replica lead partition 0, whatever it lacks; the others are dead."""
        # Without a time: confluent-kafka 2.16 does not take one here, against its documentation.
        asked = self.admin.elect_leaders(ElectionType.UNCLEAN, [TopicPartition(topic, 0)])
        assert list(asked.result(_SECONDS).values()) == [None]
        self.until(lambda: self.leader(topic) == node)

    def leader(self, topic: str, partition: int = 0) -> int | None:
        """The node that leads the partition; None where there is none, or no such topic yet."""
        found = self._partitions(topic).get(partition)
        return found.leader if found is not None and found.leader in NODES else None

    def in_sync(self, topic: str, partition: int = 0) -> list[int]:
        """The nodes that have all of the partition, the first leader first."""
        found = self._partitions(topic).get(partition)
        return [] if found is None else [node for node in found.replicas if node in found.isrs]

    def alive(self) -> set[int]:
        """The nodes that the cluster counts among those that answer."""
        return set(self.admin.list_topics(timeout=_ANSWER_SECONDS).brokers)

    def until(self, holds) -> None:
        """Asks the cluster until it is as a test needs it, again where a broker died over it."""
        deadline = time.monotonic() + _SECONDS
        while True:
            try:
                # Orders go by way of a broker that the client heard of last: it may be dead by now.
                self.alive()
                if holds():
                    return
            except KafkaException as error:
                if error.args[0].code() not in (KafkaError._TRANSPORT, KafkaError._TIMED_OUT):  # noqa: SLF001 - public names
                    raise
            if time.monotonic() > deadline:
                raise TimeoutError(f"the brokers of {self.folder} did not get there")
            time.sleep(0.1)

    def _takes_topics(self) -> bool:
        """Whether the controller would make a topic that needs all brokers."""
        topic = NewTopic("any", 1, len(NODES))
        try:
            return _done(self.admin.create_topics([topic], validate_only=True, **_IN_TIME))
        except KafkaException as error:
            if error.args[0].code() != KafkaError.INVALID_REPLICATION_FACTOR:
                raise
            return False

    def _is_whole(self) -> bool:
        topics = self.admin.list_topics(timeout=_ANSWER_SECONDS).topics.values()
        return all(
            sorted(partition.isrs) == sorted(partition.replicas)
            for topic in topics
            for partition in topic.partitions.values()
        )

    def _partitions(self, topic: str) -> dict:
        return self.admin.list_topics(topic, timeout=_ANSWER_SECONDS).topics[topic].partitions

    def _settings(self, node: int) -> Path:
        return self.folder / str(node) / "server.properties"

    def _format(self) -> None:
        """What `kafka-storage.sh format` does, for all nodes side by side."""
        name = cluster()
        running = [
            subprocess.Popen(
                java("kafka.tools.StorageTool", "format", "-t", name, "-c",
                     str(self._settings(node)), options=_CHEAP),
                stdout=subprocess.DEVNULL,
            )
            for node in NODES
        ]  # fmt: skip
        for each in running:
            if each.wait(_SECONDS):
                raise RuntimeError(f"{self.folder} could not be formatted: {each.args}")


def _done(ordered) -> bool:
    for each in ordered.values():
        each.result()
    return True
