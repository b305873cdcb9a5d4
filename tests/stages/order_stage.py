"""What people order for the one table of a lake, as manifests, and what they do it about."""

from dataclasses import asdict, replace

from samples.events import Stream

from strandline.alone.stores.tables import opened, rows
from strandline.runs.rebuild import STORES

TOPIC = Stream().topic


def ordered(capture, number, work, order, records=()):
    """A manifest of an order for the table; `records` are all that is applied."""
    manifest = capture.manifest(number, [Stream().change("c", 1, 1)])
    (cut,) = manifest.tables
    if records:
        (cut,) = capture.manifest(number, records).tables
    return replace(manifest, work=work, order=asdict(order), tables=(cut,))


def names(capture):
    sql = "SELECT name FROM stored ORDER BY _key, _seq_from"
    return [row["name"] for row in rows(opened(capture.lake.history(TOPIC)), sql)]


def versions(capture):
    """The versions of the stores as an order to rebuild pins them."""
    lake = capture.lake
    paths = {name: getattr(lake, name) for name in STORES}
    found = {name: opened(p if isinstance(p, str) else p(TOPIC)) for name, p in paths.items()}
    return {TOPIC: {name: -1 if t is None else t.version() for name, t in found.items()}}
