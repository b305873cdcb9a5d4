"""The manifests of a source: a Delta log that decides which compaction run comes next.

An open manifest is finished before a new one is made: a run that died half way is repeated with the
very same cut, so that what it committed already is recognised.
"""

from collections.abc import Iterable, Sequence
from dataclasses import replace

import pyarrow as pa
from deltalake import DeltaTable

from strandline.alone.stores import schemas
from strandline.errors import Terminal, Transient
from strandline.runs.cut import Pin, next_manifest
from strandline.runs.lake import SourceLake
from strandline.runs.manifest import Manifest, TableCut
from strandline.sources.expectations import Expectations
from strandline.sources.source import Source
from strandline_airflow.landing.zone import LandingZone
from strandline_airflow.ledger import Claim, Ledger, Look
from strandline_airflow.runs.epochs import Epochs
from strandline_airflow.runs.orders import Order
from strandline_airflow.runs.publications import Publications, applied
from strandline_airflow.runs.published import Published

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

    def next(self, source: Source, planned_at: str, began_at: str | None = None) -> Manifest | None:
        """The manifest of the run to make now, or None where nothing new has landed.

        That is the open one if there is one, else a new one, numbered and on record. Raises
        `Superseded` where another planner has just made one.
        """
        table = self._ledger.ensure()  # looked at before the publications: a newer one conflicts
        number = table.transaction_version(_ID) or 0
        publications = Publications(self._lake, Look())
        if number > publications.last_number():
            return self._numbered(table, number)
        made = self._cut(source, number + 1, planned_at, publications.last())
        if made is None:
            return None
        made = replace(made, began_at=began_at)
        self._record(table, made)
        return made

    def order(
        self, source: Source, planned_at: str, order: Order, began_at: str | None = None
    ) -> Manifest:
        """The manifest of an order, on record; the same one where this is a retry of its plan.

        Raises `Transient` where a run is open: it has to be finished first.
        """
        table = self._ledger.ensure()
        number = table.transaction_version(_ID) or 0
        last = self._numbered(table, number) if number else None
        if last is not None and (last.planned_at, last.work) == (planned_at, order.work):
            return last
        if last is not None and number > Publications(self._lake).last_number():
            raise Transient(
                f"run {number} of {source.name} ({last.work}, planned at {last.planned_at}) is not "
                f"published yet; this waits for it. If nothing is running, trigger "
                f"compact__{source.name}: it finishes the run"
            )
        # Not before the run may begin: what is read would be older by the time that it waited.
        read = order.read() if order.read is not None else {}
        made = Manifest(
            source=source.name,
            connector=source.connector,
            lake=source.lake,
            number=number + 1,
            planned_at=planned_at,
            landing_version=LandingZone(self._lake).version() or 0,
            schemas_version=schemas.version(self._lake.schemas),
            tables=Epochs(source).on(order.tables),
            control=order.control,
            work=order.work,
            order={**order.options, **read},
            way=source.way,
            began_at=began_at,
            expectations=_expectations(source, order.tables),
        )
        self._record(table, made)
        return made

    def numbered(self, number: int) -> Manifest | None:
        """The manifest of a run; None where there was no such run."""
        table = self._ledger.ensure()
        known = 0 < number <= (table.transaction_version(_ID) or 0)
        return self._numbered(table, number) if known else None

    def _numbered(self, table: DeltaTable, number: int) -> Manifest:
        (row,) = self._ledger.rows(table, number=number)
        return Manifest.from_json(row["manifest"])

    def _record(self, table: DeltaTable, made: Manifest) -> None:
        row = {
            "number": made.number,
            "planned_at": made.planned_at,
            "landing_version": made.landing_version,
            "manifest": made.to_json(),
        }
        claim = Claim(_ID, made.number - 1 or None, made.number)
        self._ledger.append(table, pa.Table.from_pylist([row], MANIFESTS), [claim])

    def _cut(
        self, source: Source, number: int, planned_at: str, published: Sequence[Published]
    ) -> Manifest | None:
        zone = LandingZone(self._lake)
        version, landed = zone.newest()
        if version is None:
            return None
        # Looked at after landing, which stores schemas before the records that name them.
        pin = Pin(number, planned_at, version, schemas.version(self._lake.schemas))
        held = [row.topic for row in published if row.held]
        made = next_manifest(source, pin, landed, applied(published), held)
        if made is None:
            return None
        _refuse_renamed(source, published)
        return replace(
            made,
            tables=Epochs(source).on(made.tables),
            expectations=_expectations(source, made.tables),
        )


def _expectations(source: Source, cuts: Iterable[TableCut]) -> dict[str, Expectations]:
    """What is expected of these tables, by topic, where anything is."""
    found = {cut.topic: source.expectations(cut.topic) for cut in cuts}
    return {topic: each for topic, each in found.items() if each != Expectations()}


def _refuse_renamed(source: Source, published: Iterable[Published]) -> None:
    """`Terminal` where a table that has a history is to be called otherwise.

    Its folder would be another one, and the history in it would begin with this run. A table that
    a run has failed on may be: to be rebuilt under another name can be what its error asks for.
    """
    for row in published:
        name = source.table_name(row.topic)
        stands = row.made_version >= 0 and not row.is_failing
        if stands and row.table not in (None, name):
            raise Terminal(
                f"source {source.name}: the history of topic '{row.topic}' is that of table "
                f"'{row.table}', and would begin anew as '{name}': write name = \"{row.table}\" in "
                "the topic's [[table]] section"
            )
