"""Apache Kafka in a process of its own, for what librdkafka's mock cluster has not.

That is offsets by time, transactions, and a log on disk that outlives the broker. `setup.sh kafka`
fetches it. One node is broker and controller; it listens on the loopback interface only, and ends
with the process that started it.
"""

import base64
import os
import shutil
import signal
import socket
import subprocess
import tempfile
import uuid
from contextlib import ExitStack
from pathlib import Path

from confluent_kafka import KafkaException, TopicPartition
from confluent_kafka.admin import AdminClient, NewPartitions, NewTopic

from examples import keeper, sessions
from examples.broker import Broker

LIBRARIES = Path(__file__).resolve().parents[1] / ".venv" / "kafka"
_START_SECONDS = 120
_ANSWER_SECONDS = 30
_PROPERTIES = """\
process.roles=broker,controller
node.id=1
controller.quorum.voters=1@127.0.0.1:{controller}
listeners=PLAINTEXT://127.0.0.1:{port},CONTROLLER://127.0.0.1:{controller}
controller.listener.names=CONTROLLER
listener.security.protocol.map=PLAINTEXT:PLAINTEXT,CONTROLLER:PLAINTEXT
log.dirs={folder}/log
log.retention.ms=-1
log.message.timestamp.after.max.ms=9223372036854775807
auto.create.topics.enable=false
offsets.topic.replication.factor=1
offsets.topic.num.partitions=1
transaction.state.log.replication.factor=1
transaction.state.log.min.isr=1
transaction.state.log.num.partitions=1
share.coordinator.state.topic.replication.factor=1
share.coordinator.state.topic.min.isr=1
group.initial.rebalance.delay.ms=0
"""


class ApacheKafka(Broker):
    """One broker with nothing in it; FileNotFoundError where it was not fetched.

    `properties` are further ones of its file, and those that are to be others than here.
    """

    properties = ""

    def __init__(self) -> None:
        super().__init__()
        if not any(LIBRARIES.glob("kafka_*.jar")):
            raise FileNotFoundError(f"{LIBRARIES} has no Kafka: type sh setup.sh kafka")

    def _begin(self) -> None:
        self._folder = Path(tempfile.mkdtemp(prefix="strandline-kafka-"))
        port, controller = free_ports(2)
        self.bootstrap = f"127.0.0.1:{port}"
        form = _PROPERTIES + self.properties
        settings = form.format(port=port, controller=controller, folder=self._folder)
        self._settings.write_text(settings)
        self._format()
        self._admin = AdminClient({"bootstrap.servers": self.bootstrap, "log_level": 0})
        self.start()

    def _end(self) -> None:
        self.stop()
        shutil.rmtree(self._folder)

    @property
    def _settings(self) -> Path:
        return self._folder / "server.properties"

    def start(self) -> None:
        """Starts the broker on what it had; TimeoutError where it does not answer."""
        command = java("kafka.Kafka", str(self._settings))
        self._keeper = keeper.started({"kafka": command}, os.environ, self._folder)
        try:
            self._admin.list_topics(timeout=_START_SECONDS)
        except KafkaException as error:
            self.stop()
            log = self._folder / "kafka.log"
            raise TimeoutError(f"Kafka did not start: {log.read_text()[-2000:]}") from error

    def stop(self, sign: signal.Signals = signal.SIGKILL) -> None:
        """Ends the broker as a crash does, or with another signal; what is stored stays."""
        sessions.end([self._keeper], sign)

    def create_topic(self, name: str, partitions: int = 1) -> None:
        """Creates the topic with an id of its own; ValueError where it exists."""
        if name in self._topics:
            raise ValueError(f"topic {name} exists")
        made = self._admin.create_topics([NewTopic(name, partitions, 1)])
        made[name].result(_ANSWER_SECONDS)
        self._topics.add(name)

    def delete_topic(self, name: str) -> None:
        """Deletes the topic; creating it again gives it another id."""
        self._admin.delete_topics([name])[name].result(_ANSWER_SECONDS)
        self._topics.discard(name)
        self._open()  # a producer remembers a topic's partitions for minutes

    def add_partitions(self, topic: str, to: int) -> None:
        """Gives the topic more partitions, `to` of them altogether."""
        self._admin.create_partitions([NewPartitions(topic, to)])[topic].result(_ANSWER_SECONDS)
        self._open()

    def delete_records(self, topic: str, partition: int, before_offset: int) -> None:
        """Deletes everything before the offset, as retention does."""
        place = TopicPartition(topic, partition, before_offset)
        for done in self._admin.delete_records([place]).values():
            done.result(_ANSWER_SECONDS)

    def _format(self) -> None:
        form = ("format", "-t", cluster(), "-c", str(self._settings))
        with (self._folder / "format.log").open("wb") as log:
            subprocess.run(
                java("kafka.tools.StorageTool", *form),
                stdout=log, stderr=log, timeout=_START_SECONDS, check=True,
            )  # fmt: skip


def java(main: str, *arguments: str, options: tuple[str, ...] = ("-Xmx512m",)) -> list[str]:
    """The command that runs a program of Kafka's."""
    home = os.environ.get("JAVA_HOME")
    program = str(Path(home) / "bin" / "java") if home else "java"
    return [program, "-XX:+UseSerialGC", *options, "-cp", f"{LIBRARIES}/*", main, *arguments]


def cluster() -> str:
    """A new id as Kafka spells them: 22 letters, the first of which is no dash."""
    return "s" + base64.urlsafe_b64encode(uuid.uuid4().bytes).decode()[1:22]


def free_ports(count: int) -> list[int]:
    """So many ports of the loopback interface that nobody listens on."""
    with ExitStack() as free:
        sockets = [free.enter_context(socket.socket()) for _ in range(count)]
        for each in sockets:
            each.bind(("127.0.0.1", 0))
        return [each.getsockname()[1] for each in sockets]
