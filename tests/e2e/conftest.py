"""The shop of `shop_stage` for the tests of a module, on its own broker; a registry for all."""

import pytest
from stages import registry_stage
from stages.shop_stage import opened

from examples.apache_kafka import ApacheKafka
from examples.embedded_kafka import EmbeddedKafka


@pytest.fixture(scope="module")
def shop(tmp_path_factory, spark):
    with EmbeddedKafka() as broker, opened(tmp_path_factory.mktemp("shop"), broker, spark) as shop:
        yield shop


@pytest.fixture(scope="module")
def shop_on_apache_kafka(tmp_path_factory, spark):
    with ApacheKafka() as broker, opened(tmp_path_factory.mktemp("shop"), broker, spark) as shop:
        yield shop


@pytest.fixture(scope="session")
def registry(tmp_path_factory):
    with registry_stage.opened(tmp_path_factory.mktemp("registry")) as registry:
        yield registry
