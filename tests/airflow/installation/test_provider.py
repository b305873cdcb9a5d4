"""What Airflow is told of this package: by its own schema, in its own registry."""

import importlib
import json
from importlib.resources import files
from urllib.parse import urlsplit

import jsonschema
import pytest
from stages import airflow_stage
from strandline_airflow import provider
from strandline_airflow.hook import KafkaHook

from examples.embedded_kafka import EmbeddedKafka


def found(path):
    module, _, name = path.rpartition(".")
    return getattr(importlib.import_module(module), name)


def test_the_description_is_as_airflows_schema_has_it():
    schema = json.loads((files("airflow") / "provider_info.schema.json").read_text())
    jsonschema.validate(provider.get_provider_info(), schema)


def test_everything_that_the_description_names_is_there():
    info = provider.get_provider_info()
    (kafka,) = info["connection-types"]
    assert found(kafka["hook-class-name"]) is KafkaHook
    for path in (*info["notifications"], *(uri["handler"] for uri in info["asset-uris"])):
        assert callable(found(path))


def test_airflows_form_of_a_kafka_connection_has_its_fields_and_hides_the_password():
    from airflow.providers_manager import ProvidersManager  # noqa: PLC0415 - as the page asks it

    providers = ProvidersManager()
    fields = {
        field.field_name: field
        for name, field in providers.connection_form_widgets.items()
        if name.startswith("extra__kafka__")
    }
    assert {"bootstrap.servers", "security.protocol", "sasl.username"} <= set(fields)
    assert [name for name, field in fields.items() if field.is_sensitive] == ["sasl.password"]
    assert "password" in providers.field_behaviours["kafka"]["hidden_fields"]


def test_the_connection_type_is_left_to_the_provider_of_kafka_where_it_is_installed(
    monkeypatch, tmp_path
):
    package = tmp_path / "airflow" / "providers" / "apache" / "kafka"
    package.mkdir(parents=True)
    (package / "__init__.py").touch()
    import airflow.providers.apache as namespace  # noqa: PLC0415 - is looked into, not imported from

    monkeypatch.setattr(namespace, "__path__", [*namespace.__path__, str(package.parent)])
    assert provider.get_provider_info()["connection-types"] == []


@pytest.fixture
def connected(monkeypatch):
    """Names the brokers of the connection `kafka_default`."""

    def connected(bootstrap):
        text = airflow_stage.kafka_connection(bootstrap)
        monkeypatch.setenv("AIRFLOW_CONN_KAFKA_DEFAULT", text)

    return connected


def test_the_test_of_a_connection_counts_brokers_and_topics(connected):
    with EmbeddedKafka() as broker:
        broker.create_topic("shop.item")
        connected(broker.bootstrap)
        assert KafkaHook().test_connection() == (True, "1 brokers answer, with 1 topics")


def test_the_test_of_a_connection_says_why_nobody_answers(connected, monkeypatch):
    monkeypatch.setattr("strandline_airflow.hook.ANSWER_SECONDS", 0.5)
    connected("127.0.0.1:1")
    answers, why = KafkaHook().test_connection()
    assert not answers
    assert why


@pytest.mark.parametrize("path", ["tables/public.item", "landing", "landing/shop.item"])
def test_the_assets_of_a_source_have_their_uris(path):
    uri = urlsplit(f"strandline://shop/{path}")
    assert provider.checked_uri(uri) == uri


@pytest.mark.parametrize("path", ["", "tables", "table/public.item", "history/public.item"])
def test_a_uri_for_which_no_event_ever_comes_is_refused(path):
    with pytest.raises(ValueError, match="a table's is strandline://SOURCE/tables/TABLE"):
        provider.checked_uri(urlsplit(f"strandline://shop/{path}"))


def test_airflow_asks_it_when_an_asset_is_made():
    from airflow.sdk import Asset  # noqa: PLC0415 - its registry needs the environment

    with pytest.raises(ValueError, match="is no asset of Strandline"):
        Asset("strandline://shop/table/orders")
