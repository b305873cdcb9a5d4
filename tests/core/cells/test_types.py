"""Every row of the type table, decoded by the law."""

import json

import pytest
from samples.typetable import ROWS, UNFIT, UNHELD

from strandline.cells.values import Number, UnfitError, UnheldError, decode


@pytest.mark.parametrize("row", ROWS, ids=str)
def test_a_cell_decodes_as_the_type_table_says(row):
    cell = json.loads(row.wire, parse_float=Number)
    assert repr(outcome(cell, row.of)) == repr(row.expected)


def outcome(cell, of):
    try:
        return decode(cell, of)
    except UnfitError:
        return UNFIT
    except UnheldError:
        return UNHELD
