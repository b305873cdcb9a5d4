"""A run whose tables are handed out to executors of their own, of which one is killed at work.

`python -m executors FOLDER` starts a small cluster in this process; it prints the receipt.
"""

import os
import signal
import sys
from functools import partial
from pathlib import Path

from pyspark import cloudpickle
from pyspark.sql import SparkSession
from samples.events import Stream
from strandline_spark import handout, work
from strandline_spark.engine import CaptureLake
from strandline_spark.session import local

from strandline.alone import work as alone
from strandline.alone.stores import fencing
from strandline.changes.record import Record
from strandline.engine import recorded_at
from strandline.runs import jars
from strandline.runs.lake import SourceLake
from strandline.runs.way import Way

cloudpickle.register_pickle_by_value(sys.modules[__name__])  # which no worker can import

TOPICS = "shop.public.orders", "shop.public.customers"


def main(folder: str) -> None:
    """Two runs; of the second one an executor dies when a history is committed."""
    spark = cluster()
    streams = [Stream(topic=topic) for topic in TOPICS]
    for s in streams:
        s.change("c", 1, 1, name="a")
    lake = SourceLake(f"{folder}/lake", "shop")
    moment = recorded_at(streams[0].records)
    capture = CaptureLake(lake, "postgresql", moment, way=Way.AUTO, session=spark)
    applied(capture, 1, [record for s in streams for record in s.records])
    handout.done = partial(ending, f"{folder}/once", TOPICS[0])
    news = [s.change("u", 1, 2, name="b") for s in streams]
    sys.stdout.write(f"{applied(capture, 2, news)}\n")
    spark.stop()


def cluster() -> SparkSession:
    """Two executors of one core, in Java processes of their own."""
    return local(
        "executors",
        spark__master="local-cluster[2,1,1024]",
        spark__executorEnv__PYTHONPATH=os.environ["PYTHONPATH"],
        spark__executor__extraClassPath=os.pathsep.join(map(str, jars.at_hand(os.environ))),
    )


def applied(capture: CaptureLake, number: int, records: list[Record]) -> str:
    """The receipt of a run with these records."""
    capture.land(records)
    return work.done(capture.session, capture.manifest(number, records)).to_json()


def ending(once, table, manifest, cut, known):
    """The work on a table, which once kills the executor when the history is committed."""
    if cut.table == table and not Path(once).exists():
        commit = fencing.commit

        def killed(run, text=None, *others, **named):
            if text is not None:
                Path(once).touch()
                os.kill(executor(), signal.SIGKILL)
            return commit(run, text, *others, **named)

        fencing.commit = killed
    return alone.done(manifest, cut, known)


def executor() -> int:
    """The Java process above the daemon that this worker is forked from."""
    pid = os.getppid()
    while "CoarseGrainedExecutorBackend" not in Path(f"/proc/{pid}/cmdline").read_text():
        pid = int(Path(f"/proc/{pid}/stat").read_text().rpartition(") ")[2].split()[1])
    return pid


if __name__ == "__main__":
    main(*sys.argv[1:])
