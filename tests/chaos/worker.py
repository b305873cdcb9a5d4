"""Doors in the workers of Spark that are handed whole tables; they are put there with the work."""

import sys
from dataclasses import replace
from functools import partial

from pyspark import cloudpickle
from strandline_spark import handout

from chaos import doors
from chaos.doors import Doors, Fate, of_tables
from strandline.alone.stores.control import Control
from strandline.alone.work import done
from strandline.runs.manifest import Manifest, TableCut
from strandline.runs.receipt import TableReceipt


def befall(fate: Fate) -> None:
    """From now on what this process hands out is done behind doors that the fate watches.

    At a step of a worker's it is the worker that dies, once: `task` is the process that writes, and
    the driver asks another one then.
    """
    for module in (sys.modules[__name__], doors):
        cloudpickle.register_pickle_by_value(module)  # which no worker can import
    handout.done = partial(_done, fate)


def _done(fate: Fate, manifest: Manifest, cut: TableCut, known: Control) -> TableReceipt:
    put = Doors(replace(fate, step="") if fate.has_come else fate, lambda _: None)
    of_tables(put)
    try:
        return done(manifest, cut, known)
    finally:  # a worker outlives the table, and the driver
        put.lift()
