"""The recorded databases that the examples replay: what Debezium sent, and what really happened.

Each folder holds `capture.jsonl`, `truth.jsonl` and a README that says how they were recorded. One
recording is there in Avro too, with its schemas.
"""

import json
from dataclasses import dataclass
from pathlib import Path

from strandline.changes.record import Record
from strandline.formats import capture

WAVES = (1, 2)
_HERE = Path(__file__).parent


@dataclass(frozen=True, slots=True)
class Capture:
    """One recorded database, replayed in two waves so that the second run is incremental.

    `source` names its source file, `schema` is what its table names start with. The first wave is
    the first `cut` records in arrival order. `clock_us` is the resolution of the connector's commit
    times in microseconds. `original` is the capture that it was derived from, which has the truth.
    """

    source: str
    schema: str
    cut: int
    clock_us: int
    original: str = ""

    @property
    def connection(self) -> str:
        """The Airflow connection of its broker, as the source file names it."""
        return f"kafka_{self.source}"

    @property
    def registry(self) -> str:
        """The Airflow connection of the registry of its schemas, as the source file names it."""
        return f"registry_{self.source}"

    @property
    def schemas(self) -> Path | None:
        """The folder of the schemas that its records name; None: they have their own."""
        folder = _folder(self.source) / "schemas"
        return folder if folder.is_dir() else None

    def wave(self, number: int) -> tuple[Record, ...]:
        """The records of a wave."""
        records = self.records()
        return records[: self.cut] if number == WAVES[0] else records[self.cut :]

    def records(self) -> tuple[Record, ...]:
        """Every record in arrival order."""
        return tuple(capture.read([_folder(self.source) / "capture.jsonl"]))

    def truth(self) -> list[dict[str, object]]:
        """What the database itself wrote down, a document per key."""
        with (_folder(self.original or self.source) / "truth.jsonl").open(
            encoding="utf-8"
        ) as lines:
            return [json.loads(line) for line in lines]


def _folder(source: str) -> Path:
    return _HERE / source.replace("_", "-")


# The cuts part what belongs together: in PostgreSQL's recording the second TRUNCATE from the
# update before it, and order 8 that left its key from its arrival at key 7; in MariaDB's order item
# (2,1) from its arrival at (2,9).
CAPTURES = (
    Capture("postgres_inventory", schema="public", cut=211, clock_us=1),
    # Its binlog knows whole seconds.
    Capture("mariadb_inventory", schema="inventory", cut=205, clock_us=1_000_000),
    Capture(
        "postgres_inventory_avro",
        schema="public",
        cut=211,
        clock_us=1,
        original="postgres_inventory",
    ),
)


def named(source: str) -> Capture:
    """The capture of a source; KeyError where there is none."""
    return {each.source: each for each in CAPTURES}[source]
