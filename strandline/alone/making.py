"""How a run makes a table that has no records yet, whichever way it goes."""

from datetime import datetime

from strandline import connectors
from strandline.law.shard import Making
from strandline.runs.manifest import Manifest, TableCut


def of(manifest: Manifest, cut: TableCut) -> Making:
    """That of a table's part of a manifest; its versions are recorded when the run was planned."""
    return Making(
        cut.topic,
        connectors.named(manifest.connector),
        cut.rules,
        datetime.fromisoformat(manifest.planned_at),
    )
