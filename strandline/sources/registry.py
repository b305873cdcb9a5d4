"""`[registry]`: where landing looks up the schemas that records name by an id.

The section names an Airflow connection, which has the addresses and whatever is secret.
"""

from dataclasses import dataclass
from datetime import timedelta
from enum import StrEnum

from strandline.errors import SpecError
from strandline.sources import duration
from strandline.sources.section import Section

TIMEOUT = "10s"
_MOST_RETRIES = 20
_LONGEST = timedelta(minutes=5)


class Kind(StrEnum):
    """Whose interface the registry is asked by.

    `CONFLUENT` is Confluent's, which Apicurio (`/apis/ccompat/v7`), Karapace and Redpanda have too;
    `APICURIO` is Apicurio's own (`/apis/registry/v3`), for its own two kinds of ids.
    """

    CONFLUENT = "confluent"
    APICURIO = "apicurio"


@dataclass(frozen=True, slots=True)
class Registry:
    """The registry of a source.

    `timeout` is how long one answer may take, `retries` how often one that does not come is asked
    for again, at each address. `hold`: whether a table whose records name a schema that nobody
    knows yet waits for it; else these records go to quarantine.
    """

    connection: str
    kind: Kind
    timeout: timedelta
    retries: int
    hold: bool = True

    @staticmethod
    def of(section: Section) -> "Registry":
        """The registry of a source file's section; `SpecError` names all that is wrong with it."""
        where = f"{section.path}: {section.title}"
        connection: str = section.take("connection", str, required=True)
        kind = section.take("kind", str, Kind.CONFLUENT)
        timeout = section.take("timeout", str, TIMEOUT)
        retries = section.take("retries", int, 3)
        hold: bool = section.take("hold", bool, True)
        section.finish()
        wrong = [
            *([] if connection.strip() else ["'connection' is empty: name an Airflow connection"]),
            *([] if kind in set(Kind) else [_unknown_kind(kind)]),
            *_wrong_timeout(timeout),
            *(
                []
                if 0 <= retries <= _MOST_RETRIES
                else [f"'retries' must be 0 to {_MOST_RETRIES}, not {retries}"]
            ),
        ]
        if wrong:
            raise SpecError(f"{where}: {'; '.join(wrong)}")
        return Registry(connection, Kind(kind), duration.parse(timeout), retries, hold)


def _unknown_kind(kind: str) -> str:
    said = f"'kind' must be {' or '.join(Kind)}, not {kind!r}"
    if kind == "glue":
        return f"{said}: schemas of AWS Glue are read from a folder only, for captures (--schemas)"
    return said


def _wrong_timeout(text: str) -> list[str]:
    try:
        length = duration.parse(text)
    except ValueError as error:
        return [f"'timeout' {error}"]
    return [] if length <= _LONGEST else [f"'timeout' must be 5m at most, not {text!r}"]
