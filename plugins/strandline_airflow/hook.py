"""What Airflow makes of a connection of type `kafka`: its client, and a test of it."""

from confluent_kafka import KafkaException
from confluent_kafka.admin import AdminClient

from strandline.errors import StrandlineError
from strandline_airflow.landing.kafka import ANSWER_SECONDS, KafkaSegments


class KafkaHook(KafkaSegments):
    """A cluster as the connection's form describes it; tests and other DAGs may use it too.

    Raises `Terminal` where the connection is missing or librdkafka refuses it.
    """

    def __init__(self, kafka_conn_id: str = KafkaSegments.default_conn_name) -> None:
        super().__init__(kafka_conn_id, group="strandline")

    def get_conn(self) -> AdminClient:
        """The client that asks the cluster about itself."""
        client: AdminClient = self._admin
        return client

    def test_connection(self) -> tuple[bool, str]:
        """Whether the cluster answers, and what it says, as Airflow's form shows it."""
        try:
            metadata = self.get_conn().list_topics(timeout=ANSWER_SECONDS)
        except (KafkaException, StrandlineError) as error:
            return False, str(error)
        return True, f"{len(metadata.brokers)} brokers answer, with {len(metadata.topics)} topics"
