"""A table in Avro, of which one record names a schema that comes later, on a lake of captures."""

from samples.events import COLUMNS, Stream

from strandline.alone.stores import schemas
from strandline.alone.stores.tables import opened, rows

TOPIC = Stream().topic
_COLUMN = {"type": "string", "optional": True, "field": "town"}


def changes():
    """Three changes; the last has a column more, and so another schema of the value."""
    found = Stream()
    found.change("c", 1, 1, name="a")
    found.change("c", 2, 2, name="b")
    found.columns = [*COLUMNS, _COLUMN]
    found.change("u", 1, 3, name="c", more={"town": "Ulm"})
    return found


def last(found):
    """The id of the schema that came last."""
    return list(found.known)[-1]


def store(capture, found, *but, fault="gone"):
    """Stores schemas, without some that a registry was asked for in vain."""
    rest = found.without(but)
    table = schemas.arrow(rest.known.values(), dict.fromkeys(but, fault), capture.moment)
    schemas.append(capture.lake.schemas, table)


def apply(capture, number, records):
    """The receipt of the table, of a run of its own that applies landed records."""
    capture.schemas = schemas.known(capture.lake.schemas)
    capture.moment = capture.moment.replace(hour=number)
    (receipt,) = capture.compact(capture.manifest(number, records)).tables
    return receipt


def run(capture, number, records):
    """The same of records that have not landed yet."""
    capture.land(records)
    return apply(capture, number, records)


def versions(capture):
    table = opened(capture.lake.history(TOPIC))
    found = [] if table is None else rows(table, "SELECT * FROM stored ORDER BY _key, _seq_from")
    return [(row["id"], row["name"], row["_is_current"]) for row in found]
