"""`backfill__SOURCE`: what was landed comes again, what was lost comes from another cluster."""

from datetime import UTC, datetime

import pytest
from stages import airflow_stage
from strandline_airflow.forms import backfill

from examples.embedded_kafka import EmbeddedKafka
from strandline.errors import SpecError, Terminal

pytestmark = pytest.mark.heavy

TOPIC = "shop.public.item"


@pytest.fixture(scope="module")
def filled(shop):
    """Four changes, of which retention deleted two before they were landed."""
    stream = shop.stream
    stream.change("c", 1, 10, name="ada")
    shop.arrive()
    stream.change("u", 1, 20, name="bob")
    stream.change("u", 1, 30, name="eve")
    stream.change("u", 1, 40, name="joe")
    shop.broker.replay(stream.records[1:])
    shop.sent = 4
    shop.broker.delete_records(TOPIC, 0, 3)
    assert shop.trigger("land")["report"] == "failed"
    shop.arrive()
    shop.before = shop.history()
    with EmbeddedKafka() as other, pytest.MonkeyPatch.context() as environment:
        connection = airflow_stage.kafka_connection(other.bootstrap)
        environment.setenv("AIRFLOW_CONN_KAFKA_MIRROR", connection)
        other.create_topic(TOPIC)
        other.replay(stream.records)
        given = {"topics": [TOPIC], "connection": "kafka_mirror", "start_offset": 1}
        shop.planned = shop.trigger("backfill", **given, dry_run=True)
        shop.unfilled = len(shop.rows(shop.lake.landing))
        shop.states = shop.trigger("backfill", **given, dry_run=False)
    shop.landed = len(shop.rows(shop.lake.landing))
    shop.arrive()
    return shop


def plan(shop, **given):
    params = {name: param.resolve() for name, param in backfill.PARAMS.items()}
    asked = {**params, "topics": [TOPIC], **given}
    return backfill.segments(shop.source, asked, datetime.now(UTC))


def test_a_dry_run_lands_nothing(filled):
    assert filled.planned == {
        "plan": "skipped", "land": "skipped", "collect": "success", "report": "success"
    }  # fmt: skip
    assert filled.unfilled == 2


def test_what_retention_took_comes_from_another_cluster_and_finds_its_place(filled):
    assert filled.before == ["1: ada|update", "1: joe"]
    assert set(filled.states.values()) == {"success"}
    assert filled.landed == 5
    assert filled.history() == ["1: ada|update", "1: bob|update", "1: eve|update", "1: joe"]
    counts = filled.published().counts
    assert counts.landed == 3
    assert counts.conserved


def test_landing_the_same_offsets_again_changes_no_history(filled):
    story = filled.history()
    states = filled.trigger("backfill", topics=[TOPIC], end_offset=4, dry_run=False)
    assert set(states.values()) == {"success"}
    filled.arrive()
    assert filled.history() == story
    assert filled.published().counts.duplicates == 1


def test_landing_goes_on_where_it_was(filled):
    filled.stream.change("u", 1, 50, name="max")
    filled.arrive()
    assert filled.history()[-1] == "1: max"
    assert filled.published().counts.landed == 1


@pytest.mark.parametrize(
    ("given", "says"),
    [
        ({"topics": []}, "name at least one topic"),
        ({"topics": ["other.t"]}, r"none of shop: its topics begin with 'shop\.'"),
        ({"topics": ["shop.public.itme"]}, r"no topic 'shop\.public\.itme'; .*item"),
        ({"start_offset": 5, "end_offset": 5}, "swap them"),
        ({"start_offset": 900}, r"has nothing of what was asked for; it has shop\.public\.item"),
        ({"partition": 7}, "has nothing of what was asked for"),
        (
            {"since": "2026-11-22T00:00:00Z", "until": "2026-11-21T00:00:00Z"},
            "has to be before 'until'",
        ),
    ],
)
def test_what_cannot_be_landed_says_what_to_ask_for(filled, given, says):
    with pytest.raises(SpecError, match=says):
        plan(filled, **given)


def test_a_connection_that_is_not_there_says_how_to_add_it(filled):
    with pytest.raises(Terminal, match="airflow connections add nowhere"):
        plan(filled, connection="nowhere")
