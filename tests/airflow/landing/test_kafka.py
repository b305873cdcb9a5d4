import pytest
from confluent_kafka import ConsumerGroupTopicPartitions, KafkaError, TopicPartition
from confluent_kafka.admin import AdminClient
from stages.airflow_stage import kafka_connection
from strandline_airflow.landing import kafka as kafka_module
from strandline_airflow.landing.kafka import KafkaSegments

from strandline.errors import Terminal, Transient
from strandline.runs.segment import Segment, Watermarks

TOPIC = "shop.t"
BUDGET = 1 << 20


def of_shop(topic):
    return topic.startswith("shop.")


def values(chunks):
    return [
        message.value() for chunk in chunks for messages in chunk.values() for message in messages
    ]


@pytest.fixture
def topic_id(kafka, connected):
    connected.create_topic(TOPIC, 2)
    return kafka.topic_ids([TOPIC])[TOPIC]


def segment(topic_id, start, end, partition=0):
    return Segment(TOPIC, topic_id, partition, start, end)


def test_the_barrier_has_the_watermarks_of_every_partition_of_the_source(
    kafka, connected, topic_id, records
):
    connected.create_topic("elsewhere.t")
    connected.replay(records(5))
    connected.delete_records(TOPIC, 0, 2)
    barrier = kafka.barrier(of_shop)
    assert sorted(barrier.watermarks, key=lambda mark: mark.partition) == [
        Watermarks(TOPIC, topic_id, 0, 2, 5),
        Watermarks(TOPIC, topic_id, 1, 0, 0),
    ]
    assert barrier.unanswered == ()


def test_a_source_without_topics_has_an_empty_barrier(kafka):
    assert kafka.barrier(of_shop).watermarks == ()


def test_asking_for_a_topic_does_not_make_it(kafka):
    assert kafka.barrier(of_shop).watermarks == kafka.barrier(of_shop).watermarks == ()


def test_a_topic_created_again_has_another_id(kafka, connected, topic_id):
    connected.delete_topic(TOPIC)
    connected.create_topic(TOPIC)
    assert kafka.topic_ids([TOPIC])[TOPIC] != topic_id


def test_a_segment_is_read_from_its_start_to_its_end_and_not_further(
    kafka, connected, topic_id, records
):
    connected.replay(records(10))
    assert values(kafka.consume({segment(topic_id, 2, 7): 3}, BUDGET)) == [
        b"3", b"4", b"5", b"6"
    ]  # fmt: skip


def test_a_chunk_holds_about_the_budget(kafka, connected, topic_id, records):
    connected.replay(records(10))
    chunks = list(kafka.consume({segment(topic_id, 0, 10): 0}, 250))
    assert [len(messages) for chunk in chunks for messages in chunk.values()] == [3, 3, 3, 1]


def test_segments_of_several_partitions_keep_the_order_within_each(
    kafka, connected, topic_id, records
):
    connected.replay(records(50))
    connected.replay(records(50, partition=1))
    parts = [segment(topic_id, 10, 50), segment(topic_id, 0, 40, partition=1)]
    read = {part: [] for part in parts}
    for chunk in kafka.consume({part: part.start for part in parts}, 2000):
        for part, messages in chunk.items():
            read[part] += [message.offset() for message in messages]
    assert read == {part: list(range(part.start, part.end)) for part in parts}


def test_one_client_reads_one_segment_after_the_other(kafka, connected, topic_id, records):
    connected.replay(records(10))
    for start in (5, 0, 9):
        read = values(kafka.consume({segment(topic_id, start, start + 1): start}, BUDGET))
        assert read == [f"{start}".encode()]


class Scripted:
    """A consumer that hands over what a test says: offsets, and "end" with where a partition ends.

    The mock broker has no transactions, hence no holes.
    """

    def __init__(self, *script):
        self._script = list(script)

    def assign(self, partitions):
        pass

    def incremental_unassign(self, partitions):
        pass

    def poll(self, _):
        return self._script.pop(0)

    def close(self):
        pass


class Polled:
    """A record at an offset, or the end of its partition there."""

    def __init__(self, offset, *, end=False):
        self._offset, self._end = offset, end

    def topic(self):
        return TOPIC

    def partition(self):
        return 0

    def offset(self):
        return self._offset

    def error(self):
        code = KafkaError._PARTITION_EOF  # noqa: SLF001 - the binding's public name
        return KafkaError(code) if self._end else None

    def value(self):
        return f"{self._offset}".encode()

    def key(self):
        return None

    def headers(self):
        return None


@pytest.mark.parametrize(
    "script",
    [
        (Polled(0), Polled(1), Polled(4), Polled(9)),
        (Polled(0), Polled(1), Polled(4), Polled(6, end=True)),
        (Polled(0), Polled(1), Polled(4), None, Polled(7)),
    ],
    ids=["a record behind the range", "the end of the partition", "silence in between"],
)
def test_an_aborted_transaction_leaves_a_hole_and_a_range_may_end_in_one(
    kafka, monkeypatch, script
):
    """The records at 2, 3 and 5 were aborted: nobody sees them, and nothing is waited for."""
    monkeypatch.setattr(kafka, "_consumer", Scripted(*script))
    read = values(kafka.consume({segment("id", 0, 6): 0}, BUDGET))
    assert read == [b"0", b"1", b"4"]


@pytest.mark.parametrize("broker", [2], indirect=True)
def test_a_partition_that_changes_its_leader_is_read_to_the_end(connected, topic_id, records):
    connected.replay(records(10))
    with KafkaSegments("kafka_shop", group="g", patience_seconds=30) as reader:
        chunks = reader.consume({segment(topic_id, 0, 10): 0}, 250)
        first = next(chunks)
        for broker in (1, 2):
            connected.move_leader(TOPIC, 0, broker)
        assert values([first, *chunks]) == [f"{number}".encode() for number in range(10)]


def test_offsets_deleted_after_the_plan_stop_the_run_and_say_what_happens_next(
    kafka, connected, topic_id, records
):
    connected.replay(records(10))
    connected.delete_records(TOPIC, 0, 5)
    with pytest.raises(
        Terminal, match=r"shop.t\[0\]: retention deleted.*next run.*records the gap"
    ):
        list(kafka.consume({segment(topic_id, 2, 10): 2}, BUDGET))


def test_a_range_that_never_fills_ends_in_an_error_that_names_partition_and_broker(
    connected, topic_id, records
):
    connected.replay(records(2))
    with (
        KafkaSegments("kafka_shop", group="g", patience_seconds=0.5) as impatient,
        pytest.raises(Transient, match=rf"shop.t\[0\] 0..5.*{connected.bootstrap}.*kafka_shop"),
    ):
        list(impatient.consume({segment(topic_id, 0, 5): 0}, BUDGET))


def test_a_broker_that_goes_away_while_it_is_read_is_transient(connected, topic_id, records):
    connected.replay(records(2))
    with KafkaSegments("kafka_shop", group="g", patience_seconds=0.5) as impatient:
        connected.set_broker_down()
        with pytest.raises(Transient, match="nothing came from"):
            list(impatient.consume({segment(topic_id, 0, 2): 0}, BUDGET))


def test_a_broker_that_came_back_is_read_to_the_end(kafka, connected, topic_id, records):
    connected.replay(records(2))
    connected.set_broker_down()
    connected.set_broker_up()
    assert values(kafka.consume({segment(topic_id, 0, 2): 0}, BUDGET)) == [b"0", b"1"]


def test_an_unreachable_broker_is_transient_and_named(monkeypatch):
    monkeypatch.setattr(kafka_module, "ANSWER_SECONDS", 0.5)
    monkeypatch.setenv("AIRFLOW_CONN_KAFKA_SHOP", kafka_connection("127.0.0.1:1"))
    with (
        KafkaSegments("kafka_shop", group="g") as kafka,
        pytest.raises(Transient, match=r"127\.0\.0\.1:1 of .*'kafka_shop'.*refused.*check"),
    ):
        kafka.barrier(of_shop)


def test_a_missing_connection_is_terminal_and_says_how_to_create_it():
    with pytest.raises(Terminal, match=r"'kafka_nowhere'.*airflow connections add kafka_nowhere"):
        KafkaSegments("kafka_nowhere", group="g")


def test_a_connection_without_a_broker_is_terminal(monkeypatch):
    monkeypatch.setenv("AIRFLOW_CONN_KAFKA_SHOP", '{"conn_type": "kafka"}')
    with pytest.raises(Terminal, match=r"'kafka_shop' has no 'bootstrap.servers'"):
        KafkaSegments("kafka_shop", group="g")


def test_an_unknown_option_is_terminal_and_named(monkeypatch):
    connection = kafka_connection("127.0.0.1:1", **{"bootstrap.server": "typo"})
    monkeypatch.setenv("AIRFLOW_CONN_KAFKA_SHOP", connection)
    with pytest.raises(Terminal, match=r'"bootstrap\.server".*CONFIGURATION'):
        KafkaSegments("kafka_shop", group="g")


def test_no_error_text_shows_a_password(monkeypatch):
    secrets = {"sasl.password": "hunter2", "sasl.mechanisms": "NONSENSE"}
    monkeypatch.setenv("AIRFLOW_CONN_KAFKA_SHOP", kafka_connection("127.0.0.1:1", **secrets))
    monkeypatch.setattr(kafka_module, "ANSWER_SECONDS", 0.2)
    with (
        pytest.raises((Terminal, Transient)) as refused,
        KafkaSegments("kafka_shop", group="g") as kafka,
    ):
        kafka.barrier(of_shop)
    assert "hunter2" not in str(refused.value)


@pytest.mark.usefixtures("topic_id")
def test_progress_is_shown_in_the_consumer_group(kafka, connected):
    kafka.report_progress({(TOPIC, 0): 7})
    admin = AdminClient({"bootstrap.servers": connected.bootstrap})
    asked = ConsumerGroupTopicPartitions("strandline.shop", [TopicPartition(TOPIC, 0)])
    (answer,) = admin.list_consumer_group_offsets([asked]).values()
    assert [one.offset for one in answer.result().topic_partitions] == [7]


@pytest.mark.usefixtures("topic_id")
def test_progress_that_cannot_be_shown_is_a_warning_only(kafka, connected, capsys, monkeypatch):
    monkeypatch.setattr(kafka_module, "ANSWER_SECONDS", 0.5)
    connected.set_broker_down()
    kafka.report_progress({(TOPIC, 0): 7})
    assert "could not be shown in consumer group strandline.shop" in capsys.readouterr().out
