"""A cluster with TLS, and a password or a certificate: what docs/deploy/kafka.md says of it.

On Apache Kafka, which lets its clients do only what they are given the right to.
"""

import json
import re
import socket
from contextlib import ExitStack
from datetime import UTC, datetime
from pathlib import Path

import airflow_stage
import certificates
import pytest
import shop_stage
from confluent_kafka.admin import (
    AclBinding,
    AclOperation,
    AclPermissionType,
    AdminClient,
    ResourcePatternType,
    ResourceType,
)
from strandline_airflow.landing import land_run

from examples.apache_kafka import ApacheKafka
from strandline.errors import Terminal, Transient

pytestmark = pytest.mark.heavy

NOON = datetime(2026, 11, 20, 12, tzinfo=UTC)
PAGE = (airflow_stage.PROJECT / "docs" / "deploy" / "kafka.md").read_text()
SECRET = "correct horse"  # noqa: S105
PROPERTIES = """\
listeners=PLAINTEXT://127.0.0.1:{{port}},CONTROLLER://127.0.0.1:{{controller}},\
PASSWORD://127.0.0.1:{password},CERTIFICATE://127.0.0.1:{certificate}
listener.security.protocol.map=PLAINTEXT:PLAINTEXT,CONTROLLER:PLAINTEXT,\
PASSWORD:SASL_SSL,CERTIFICATE:SSL
listener.name.password.sasl.enabled.mechanisms=PLAIN
listener.name.password.plain.sasl.jaas.config=\
org.apache.kafka.common.security.plain.PlainLoginModule required user_strandline="{secret}";
listener.name.certificate.ssl.client.auth=required
listener.name.certificate.ssl.truststore.type=PEM
listener.name.certificate.ssl.truststore.location={client}
ssl.keystore.type=PEM
ssl.keystore.location={keystore}
authorizer.class.name=org.apache.kafka.metadata.authorizer.StandardAuthorizer
super.users=User:ANONYMOUS
"""


class Secured(ApacheKafka):
    """Its clients come over TLS, by two listeners; tests fill it by a third."""

    def __init__(self, folder):
        super().__init__()
        self.certificate, key = certificates.written(folder, "broker")
        self.client = certificates.written(folder, "strandline")
        keystore = folder / "keystore.pem"
        keystore.write_text("".join(Path(each).read_text() for each in (key, self.certificate)))
        with ExitStack() as free:
            ports = [free.enter_context(socket.socket()) for _ in range(2)]
            for each in ports:
                each.bind(("127.0.0.1", 0))
            password, certificate = (each.getsockname()[1] for each in ports)
        self.by_password = f"127.0.0.1:{password}"
        self.by_certificate = f"127.0.0.1:{certificate}"
        self.properties = PROPERTIES.format(
            password=password,
            certificate=certificate,
            secret=SECRET,
            client=self.client[0],
            keystore=keystore,
        )

    def allow(self, user, *, group):
        """Gives a user the rights that the page names, with that on the group or without."""
        rights = [(ResourceType.TOPIC, "shop", ResourcePatternType.PREFIXED)]
        if group:
            rights.append((ResourceType.GROUP, "strandline.shop", ResourcePatternType.LITERAL))
        read, allowed = AclOperation.READ, AclPermissionType.ALLOW
        bindings = [AclBinding(*of, f"User:{user}", "*", read, allowed) for of in rights]
        admin = AdminClient({"bootstrap.servers": self.bootstrap})
        for done in admin.create_acls(bindings).values():
            done.result(30)


@pytest.fixture(scope="module")
def shop(tmp_path_factory):
    folder = tmp_path_factory.mktemp("shop")
    with Secured(folder) as broker, shop_stage.opened(folder, broker, None) as shop:
        yield shop


@pytest.fixture
def connect(monkeypatch):
    """Makes the connection that the page has, with what is this cluster's own."""

    def connect(protocol, **own):
        (example,) = re.findall(rf"'(\{{.*\"security.protocol\": \"{protocol}\".*\}})'", PAGE)
        connection = json.loads(example)
        connection["extra"] |= own
        monkeypatch.setenv("AIRFLOW_CONN_KAFKA_SHOP", json.dumps(connection))

    return connect


@pytest.fixture
def by_password(shop, connect):
    shop.broker.allow("strandline", group=True)

    def by_password(**given):
        own = {
            "bootstrap.servers": shop.broker.by_password,
            "ssl.ca.location": shop.broker.certificate,
            "sasl.mechanism": "PLAIN",
            "sasl.password": SECRET,
        }
        connect("SASL_SSL", **{**own, **given})

    return by_password


def test_it_is_landed_from_with_a_password_by_the_connection_that_the_page_has(
    shop, by_password, capfd
):
    by_password()
    shop.stream.change("c", 1, 10, name="ada")
    shop.land()
    assert len(shop.rows(shop.lake.landing)) == len(shop.stream.records)
    assert "could not be shown in consumer group" not in capfd.readouterr().out


def test_it_is_landed_from_with_a_certificate_by_the_connection_that_the_page_has(
    shop, connect, capfd
):
    shop.broker.allow("CN=strandline", group=False)
    certificate, key = shop.broker.client
    connect(
        "SSL",
        **{
            "bootstrap.servers": shop.broker.by_certificate,
            "ssl.ca.location": shop.broker.certificate,
            "ssl.certificate.location": certificate,
            "ssl.key.location": key,
        },
    )
    shop.stream.change("u", 1, 20, name="bob")
    shop.land()
    assert len(shop.rows(shop.lake.landing)) == len(shop.stream.records)
    assert "could not be shown in consumer group strandline.shop" in capfd.readouterr().out


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        ({"sasl.password": "wrong horse"}, "Kafka refuses Airflow connection 'kafka_shop'"),
        ({"ssl.ca.location": ""}, "certificate verify failed"),
        ({"security.protocol": "SASL_PLAINTEXT"}, "Kafka does not answer"),
    ],
)
def test_what_is_wrong_with_a_connection_is_said_without_its_password(
    shop, by_password, wrong, said
):
    by_password(**wrong)
    with pytest.raises((Terminal, Transient)) as failed:
        land_run.plan(shop.source, NOON)
    assert said in str(failed.value)
    assert "horse" not in str(failed.value)
