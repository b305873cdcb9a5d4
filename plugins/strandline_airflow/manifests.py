"""The manifests of a source: a Delta log that decides which compaction run comes next.

An open manifest is finished before a new one is made: a run that died half way is repeated with the
very same cut, so that what it committed already is recognised.
"""

import pyarrow as pa

from strandline.cut import Pin, next_manifest
from strandline.lake import SourceLake
from strandline.manifest import Manifest
from strandline.source import Source
from strandline_airflow.landing import LandingZone
from strandline_airflow.ledger import Claim, Ledger
from strandline_airflow.publications import Publications

MANIFESTS = pa.schema(
    [
        pa.field("number", pa.int64(), nullable=False),
        pa.field("planned_at", pa.string(), nullable=False),
        pa.field("landing_version", pa.int64(), nullable=False),
        pa.field("manifest", pa.string(), nullable=False),
    ]
)

_ID = "manifest"


class Manifests:
    """The manifests of one source."""

    def __init__(self, lake: SourceLake) -> None:
        self._lake = lake
        self._ledger = Ledger(lake.manifests, MANIFESTS)
        self._publications = Publications(lake)

    def next(self, source: Source, planned_at: str) -> Manifest | None:
        """The manifest of the run to make now, or None where nothing new has landed.

        That is the open one if there is one, else a new one, numbered and on record. Raises
        `Superseded` where another planner has just made one.
        """
        table = self._ledger.ensure()  # looked at before the publications: a newer one conflicts
        number = table.transaction_version(_ID) or 0
        if number > self._publications.last_number():
            (row,) = self._ledger.rows(table, number=number)
            return Manifest.from_json(row["manifest"])
        made = self._cut(source, number + 1, planned_at)
        if made is not None:
            row = {
                "number": made.number,
                "planned_at": made.planned_at,
                "landing_version": made.landing_version,
                "manifest": made.to_json(),
            }
            claim = Claim(_ID, number or None, made.number)
            self._ledger.append(table, pa.Table.from_pylist([row], MANIFESTS), [claim])
        return made

    def _cut(self, source: Source, number: int, planned_at: str) -> Manifest | None:
        zone = LandingZone(self._lake)
        version = zone.version()
        if version is None:
            return None
        pin = Pin(number, planned_at, version)
        return next_manifest(source, pin, zone.landed(version), self._publications.applied())
