"""`[registry]`: where landing looks up the schemas that records name by an id.

The section names an Airflow connection, which has the addresses and whatever is secret.
"""

from dataclasses import dataclass
from datetime import timedelta
from enum import StrEnum

from strandline.sources.section import Section

TIMEOUT = timedelta(seconds=10)
_MOST_RETRIES = 20
_LONGEST = timedelta(minutes=5)
_OTHERS = {
    "glue": ": schemas of AWS Glue are read from a folder only, for captures (--schemas)",
}


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
        """The registry of a source file's section."""
        timeout = section.duration("timeout") or TIMEOUT
        if timeout > _LONGEST:
            section.refuse("timeout", f"must be 5m at most, not {section.values['timeout']!r}")
        found = Registry(
            connection=section.connection(),
            kind=Kind(section.choice("kind", list(Kind), Kind.CONFLUENT, _OTHERS)),
            timeout=timeout,
            retries=section.number("retries", 0, _MOST_RETRIES, default=3),
            hold=section.take("hold", bool, True),
        )
        section.finish()
        return found
