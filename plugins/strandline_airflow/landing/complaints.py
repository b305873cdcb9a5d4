"""What Kafka's clients complain of, as errors that name the Airflow connection and what to do."""

import shlex
from collections.abc import Iterable, Mapping
from typing import Any

from confluent_kafka import KafkaError

from strandline.errors import Terminal, Transient
from strandline.runs.segment import Segment

Place = tuple[str | None, int | None]  # topic and partition, as librdkafka says them

# An offset that cannot be read has one code, and why it cannot only in its text.
_TRUNCATED = KafkaError(KafkaError._LOG_TRUNCATION).str()  # noqa: SLF001 - the binding's public name


class Unread(Terminal):
    """Segments that cannot be read until somebody has changed something; the others were read."""

    def __init__(self, reasons: Mapping[Segment, str]) -> None:
        super().__init__("; ".join(reasons.values()))
        self.segments = frozenset(reasons)


class Complaints:
    """Those of the clients of one connection, whose librdkafka's configuration is `config`.

    As a client's `error_cb` it keeps the last thing that librdkafka said went wrong, beside its
    general 'all brokers down'.
    """

    def __init__(self, conn_id: str, config: Mapping[str, Any]) -> None:
        self._conn_id = conn_id
        self._config = config
        self._last = ""
        self._refused = False

    def __call__(self, error: KafkaError) -> None:
        if is_code(error, KafkaError._ALL_BROKERS_DOWN):  # noqa: SLF001 - the binding's public name
            return
        self._last = f" ({error.str()})"
        self._refused = is_code(error, KafkaError._AUTHENTICATION)  # noqa: SLF001 - likewise

    @property
    def servers(self) -> str:
        """The brokers that were named, and where."""
        return f"{self._config['bootstrap.servers']} of Airflow connection '{self._conn_id}'"

    @property
    def where(self) -> str:
        """Which brokers it is about, what was said last, and what to look at."""
        return (
            f"broker {self.servers}{self._last}: check that it runs, that this worker may "
            "reach it, and the connection's extra"
        )

    def silent(self, segments: Iterable[Segment], seconds: float) -> Transient:
        """That nothing came for so long."""
        waiting = ", ".join(map(str, segments))
        return Transient(f"nothing came from {waiting} for {seconds:.0f} s; {self.where}")

    def unreachable(self, error: KafkaError) -> Exception:
        """That the cluster does not answer, or not this user."""
        if self._refused:
            return Terminal(f"Kafka refuses Airflow connection '{self._conn_id}': {self.where}")
        return Transient(f"Kafka does not answer ({error.str()}); {self.where}")

    def unreadable(self, place: Place, error: KafkaError | None) -> Transient:
        """That a partition could not be read this time."""
        if error is None:
            return Transient(f"librdkafka gave a record without coordinates; {self.where}")
        topic, partition = place
        return Transient(f"{topic}[{partition}] cannot be read: {error.str()}; {self.where}")

    def refusal(self, place: Place, error: KafkaError) -> str | None:
        """What somebody has to do before the partition can be read; None where a retry may help."""
        topic, partition = place
        where = f"{topic}[{partition}]"
        if is_code(error, KafkaError.TOPIC_AUTHORIZATION_FAILED):
            return self.forbidden(str(topic))
        if not is_code(error, KafkaError._AUTO_OFFSET_RESET):  # noqa: SLF001 - the binding's public name
            return None
        if _TRUNCATED in error.str():
            return (
                f"{where}: the brokers lost records that are landed, and others have their "
                f"offsets ({error.str()}): a leader was elected uncleanly, or a disk restored. "
                "Nothing of this partition is landed meanwhile. Stop the connector; trigger the "
                f"backfill DAG with topic {topic}, partition {partition} and the broker end offset "
                "as start_offset (none where it is -1); delete the topic and create it again; "
                "start the connector, and let it take a snapshot of the topic's table"
            )
        return (
            f"{where}: retention deleted records between planning and landing; "
            "the next run of this DAG records the gap and goes on behind it"
        )

    def forbidden(self, topic: str) -> str:
        """That the connection's user may not read the topic."""
        user = shlex.quote(f"User:{self._config.get('sasl.username', 'NAME')}")
        return (
            f"topic {topic}: Kafka does not let the user of Airflow connection "
            f"'{self._conn_id}' read it. Nothing of it is landed until then, and nothing is "
            "lost but what retention deletes meanwhile. Give the right: kafka-acls.sh "
            f"--bootstrap-server {self._config['bootstrap.servers']} --add --allow-principal "
            f"{user} --operation Read --topic {topic}, and take away what denies it, which "
            f"kafka-acls.sh --list --topic {topic} shows"
        )


def is_code(error: object, code: int) -> bool:
    """Whether it is Kafka's error of that code."""
    return isinstance(error, KafkaError) and error.code() == code


def is_end(error: KafkaError) -> bool:
    """Whether it is none, but says that a partition ends here."""
    return is_code(error, KafkaError._PARTITION_EOF)  # noqa: SLF001 - the binding's public name
