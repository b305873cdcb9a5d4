"""What Airflow reads by the entry point `apache_airflow_provider`; its form is Airflow's.

The fields are those of librdkafka that clusters ask for most. Airflow keeps them in the
connection's extra under their own names, where landing reads them, and whatever else stands there.
"""

from importlib.util import find_spec
from typing import Any
from urllib.parse import SplitResult

_TEXT = ["string", "null"]
_PROTOCOLS = ["PLAINTEXT", "SSL", "SASL_PLAINTEXT", "SASL_SSL"]
_MECHANISMS = ["PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512", "OAUTHBEARER", "GSSAPI"]

_KAFKA = {
    "connection-type": "kafka",
    "hook-class-name": "strandline_airflow.hook.KafkaHook",
    "hook-name": "Apache Kafka",
    "ui-field-behaviour": {
        "hidden-fields": ["host", "schema", "login", "password", "port"],
        "relabeling": {"extra": "Other settings of librdkafka"},
        "placeholders": {},
    },
    "conn-fields": {
        "bootstrap.servers": {
            "label": "Bootstrap servers",
            "description": "HOST:PORT of some brokers, with commas between them.",
            "schema": {"type": "string", "minLength": 1},
        },
        "security.protocol": {
            "label": "Security protocol",
            "schema": {"type": _TEXT, "enum": _PROTOCOLS},
        },
        "sasl.mechanism": {
            "label": "SASL mechanism",
            "schema": {"type": _TEXT, "enum": _MECHANISMS},
        },
        "sasl.username": {"label": "SASL user", "schema": {"type": _TEXT}},
        "sasl.password": {
            "label": "SASL password",
            "schema": {"type": _TEXT, "format": "password"},
        },
        "ssl.ca.location": {
            "label": "CA certificates",
            "description": "A file where tasks run; without it the system's own.",
            "schema": {"type": _TEXT},
        },
        "group.id": {
            "label": "Consumer group",
            "description": "Where lag tools look for what is landed; else strandline.SOURCE.",
            "schema": {"type": _TEXT},
        },
    },
}


def get_provider_info() -> dict[str, Any]:
    """The provider's description, as Airflow's `provider_info.schema.json` has it.

    The connection type `kafka` belongs to Kafka's own provider where that is installed.
    """
    return {
        "package-name": "strandline",
        "name": "Strandline",
        "description": "Debezium change events in Kafka become SCD2 history tables in Delta Lake.",
        "integrations": [{"integration-name": "Strandline", "tags": ["software"]}],
        "hooks": [
            {"integration-name": "Strandline", "python-modules": ["strandline_airflow.hook"]}
        ],
        "operators": [
            {
                "integration-name": "Strandline",
                "python-modules": ["strandline_airflow.submission.operators"],
            }
        ],
        "connection-types": [] if _has_kafkas_own() else [_KAFKA],
        "notifications": ["strandline_airflow.notifiers.WebhookNotifier"],
        "asset-uris": [
            {"schemes": ["strandline"], "handler": "strandline_airflow.provider.checked_uri"}
        ],
    }


def checked_uri(uri: SplitResult) -> SplitResult:
    """The URI of an asset of a source; `ValueError` where no source has such a one."""
    kind, _, name = uri.path.strip("/").partition("/")
    if not uri.netloc or not (kind == "landing" or (kind == "tables" and name)):
        raise ValueError(
            f"{uri.geturl()} is no asset of Strandline: a table's is "
            "strandline://SOURCE/tables/TABLE, that of all that lands strandline://SOURCE/landing"
        )
    return uri


def _has_kafkas_own() -> bool:
    try:
        return find_spec("airflow.providers.apache.kafka") is not None
    except ModuleNotFoundError:  # not even the package that it would lie in
        return False
