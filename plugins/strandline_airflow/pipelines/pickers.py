"""Pickers: a form offers the tables that there are, where that can be known at once.

Airflow draws a form from what the DAG file said when it was parsed, and parsing must not wait for a
store. So a lake in a folder is looked at; of one behind a URI only those tables are known that the
source file names.
"""

from collections.abc import Mapping
from copy import deepcopy
from pathlib import Path

from airflow.sdk import Param

from strandline.runs.lake import SourceLake, table_in
from strandline.sources.source import Source
from strandline_airflow.runs.orders import TO_A_LINE

_ONE, _SEVERAL = "table", "tables"


def offering(source: Source, params: Mapping[str, Param]) -> dict[str, Param]:
    """The fields of a form for one DAG, those for tables with what there is to pick.

    They are its own: Airflow writes into a DAG's fields what a run is given.
    A field for one table takes any other name, too. Airflow's picker of several takes none that it
    does not offer: where it might lack some, the field stays a text.
    """
    there = _there(source)
    named = tuple(table.name for table in source.tables)
    offered = {_ONE: sorted({*there, *named}), _SEVERAL: list(there)}
    return {
        name: _picking(param, offered[name]) if offered.get(name) else deepcopy(param)
        for name, param in params.items()
    }


def _picking(param: Param, names: list[str]) -> Param:
    described = str(param.description).removesuffix(TO_A_LINE)
    return Param(param.value, description=described, **{**param.schema, "examples": names})


def _there(source: Source) -> tuple[str, ...]:
    """The tables whose folders are in the lake, where it is a folder itself."""
    if "://" in source.lake:
        return ()
    folder = Path(SourceLake(source.lake, source.name).tables)
    try:
        return tuple(sorted(table_in(each.name) for each in folder.iterdir() if each.is_dir()))
    except OSError:  # nothing is there yet, or this process may not look
        return ()
