"""Source `shop` on a Kafka of three brokers."""

import pytest
from shop_stage import opened
from three_brokers import ThreeBrokers


@pytest.fixture(scope="module")
def shop(tmp_path_factory):
    with (
        ThreeBrokers() as brokers,
        opened(tmp_path_factory.mktemp("shop"), brokers, None) as shop,
    ):
        yield shop
