"""What serializers write with a real registry is read as it was meant."""

import pytest
from confluent_kafka.schema_registry import Schema, SchemaRegistryClient

pytestmark = pytest.mark.heavy


@pytest.fixture
def client(registry):
    return SchemaRegistryClient({"url": registry.url})


def test_a_registry_that_was_killed_goes_on_with_its_schemas(registry, client):
    number = client.register_schema("killed-value", Schema('"string"', "AVRO"))
    registry.stop()
    registry.start()
    asked_anew = SchemaRegistryClient({"url": registry.url})
    assert asked_anew.get_schema(number).schema_str == '"string"'
