"""Runs of a lake with one table that goes alone."""


def run(capture, number, records):
    """Lands the records and applies them; the table's receipt."""
    capture.land(records)
    return only(capture.compact(capture.manifest(number, records)))


def only(receipt):
    """The receipt of the only table, to which the run's work was done."""
    (table,) = receipt.tables
    assert table.error is None, table.error
    return table
