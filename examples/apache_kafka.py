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
        port, controller = _free_ports()
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
        command = self._java("kafka.Kafka")
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
        command = self._java("kafka.tools.StorageTool", "format", "-t", _cluster(), "-c")
        with (self._folder / "format.log").open("wb") as log:
            subprocess.run(command, stdout=log, stderr=log, timeout=_START_SECONDS, check=True)

    def _java(self, main: str, *arguments: str) -> list[str]:
        home = os.environ.get("JAVA_HOME")
        java = str(Path(home) / "bin" / "java") if home else "java"
        memory = ("-Xmx512m", "-XX:+UseSerialGC")
        return [java, *memory, "-cp", f"{LIBRARIES}/*", main, *arguments, str(self._settings)]


def _cluster() -> str:
    """An id as Kafka spells them: 22 letters, the first of which is no dash."""
    return "s" + base64.urlsafe_b64encode(uuid.uuid4().bytes).decode()[1:22]


def _free_ports() -> tuple[int, int]:
    with socket.socket() as one, socket.socket() as other:
        for each in (one, other):
            each.bind(("127.0.0.1", 0))
        return one.getsockname()[1], other.getsockname()[1]
