"""A cluster with TLS, and a password or a certificate: what docs/deploy/kafka.md says of it.

On Apache Kafka, which lets its clients do only what they are given the right to.
"""

import json
import re
import socket
import uuid
from contextlib import ExitStack, contextmanager
from datetime import UTC, datetime
from pathlib import Path

import pytest
from confluent_kafka.admin import (
    AclBinding,
    AclBindingFilter,
    AclOperation,
    AclPermissionType,
    ResourcePatternType,
    ResourceType,
    ScramCredentialInfo,
    ScramMechanism,
    UserScramCredentialUpsertion,
)
from samples.events import Stream
from servers import certificates
from stages import airflow_stage, shop_stage
from strandline_airflow.forms import backfill
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
listener.name.password.sasl.enabled.mechanisms=PLAIN,SCRAM-SHA-512
listener.name.password.scram-sha-512.sasl.jaas.config=\
org.apache.kafka.common.security.scram.ScramLoginModule required;
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

    def enrol(self, user):
        """Stores what SCRAM keeps of a user's password."""
        kept = ScramCredentialInfo(ScramMechanism.SCRAM_SHA_512, 4096)
        asked = [UserScramCredentialUpsertion(user, kept, SECRET.encode())]
        for done in self._admin.alter_user_scram_credentials(asked).values():
            done.result(30)

    def allow(self, user, *, group):
        """Gives a user the rights that the page names, with that on the group or without."""
        rights = [(ResourceType.TOPIC, "shop", ResourcePatternType.PREFIXED)]
        if group:
            rights.append((ResourceType.GROUP, "strandline.shop", ResourcePatternType.LITERAL))
        read, allowed = AclOperation.READ, AclPermissionType.ALLOW
        bindings = [AclBinding(*of, f"User:{user}", "*", read, allowed) for of in rights]
        for done in self._admin.create_acls(bindings).values():
            done.result(30)

    @contextmanager
    def forbidden(self, user, topic, operation):
        """Takes a right on one topic from a user for as long as the block lasts."""
        of = ResourceType.TOPIC, topic, ResourcePatternType.LITERAL, f"User:{user}", "*", operation
        for done in self._admin.create_acls([AclBinding(*of, AclPermissionType.DENY)]).values():
            done.result(30)
        yield
        taken = AclBindingFilter(*of, AclPermissionType.DENY)
        for done in self._admin.delete_acls([taken]).values():
            assert len(done.result(30)) == 1


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
    shop.broker.enrol("strandline")

    def by_password(**given):
        own = {
            "bootstrap.servers": shop.broker.by_password,
            "ssl.ca.location": shop.broker.certificate,
            "sasl.password": SECRET,
        }
        connect("SASL_SSL", **{**own, **given})

    return by_password


@pytest.mark.parametrize("mechanism", ["SCRAM-SHA-512", "PLAIN"])
def test_it_is_landed_from_with_a_password_by_the_connection_that_the_page_has(
    shop, by_password, capfd, mechanism
):
    by_password(**{"sasl.mechanism": mechanism})
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


def landed(shop, topic):
    return sum(row["topic"] == topic for row in shop.rows(shop.lake.landing))


@pytest.fixture
def prices(shop, by_password):
    """A second topic of the source, with a record that is landed and one that is not."""
    by_password()
    prices = Stream(f"shop.public.price_{uuid.uuid4().hex[:8]}")
    shop.broker.create_topic(prices.topic)
    shop.broker.replay([prices.change("c", 1, 10, name="dear")])
    shop.land()
    shop.broker.replay([prices.change("u", 1, 20, name="cheap")])
    return prices.topic


@pytest.mark.parametrize("right", [AclOperation.READ, AclOperation.DESCRIBE])
def test_a_topic_that_may_not_be_read_is_told_and_waits_while_the_others_are_landed(
    shop, prices, right
):
    shop.stream.change("u", 1, 30, name="eve")
    shop.broker.replay(shop.stream.records[shop.sent :])
    shop.sent = len(shop.stream.records)
    with shop.broker.forbidden("strandline", prices, right):
        (told,) = land_run.plan(shop.source, NOON).findings
        assert shop.trigger("land")["report"] == "failed"
    assert f"--allow-principal User:strandline --operation Read --topic {prices}" in told
    assert landed(shop, shop.stream.topic) == shop.sent
    assert landed(shop, prices) == 1
    shop.land()
    assert landed(shop, prices) == 2


def test_a_right_that_is_lost_between_planning_and_landing_is_told(shop, prices):
    (group,) = land_run.plan(shop.source, NOON).groups
    with (
        shop.broker.forbidden("strandline", prices, AclOperation.READ),
        pytest.raises(Terminal, match=f"--operation Read --topic {prices}"),
    ):
        land_run.land(shop.source, group, NOON)


def test_a_topic_that_may_not_be_read_is_not_landed_again(shop, prices):
    params = {name: param.resolve() for name, param in backfill.PARAMS.items()}
    with (
        shop.broker.forbidden("strandline", prices, AclOperation.READ),
        pytest.raises(Terminal, match=f"--operation Read --topic {prices}"),
    ):
        backfill.segments(shop.source, {**params, "topics": [prices]}, NOON)
