"""Who takes part: each applies the batches of a case in its own way, on the same landing table."""

from bench.contenders.application import Application
from bench.contenders.auto_cdc import AutoCdc
from bench.contenders.contender import Contender
from bench.contenders.duckdb_pass import DuckDBPass
from bench.contenders.empty_commit import EmptyCommit
from bench.contenders.merge import Merge, MergeOfFew, MergeWithoutVectors
from bench.contenders.on_cluster import OnOneExecutor, OnTwoExecutors
from bench.contenders.spark_append import SparkAppend
from bench.contenders.strandline import Strandline

CONTENDERS: dict[str, type[Contender]] = {
    kind.name: kind
    for kind in (
        Strandline,
        Application,
        Merge,
        MergeWithoutVectors,
        MergeOfFew,
        AutoCdc,
        SparkAppend,
        EmptyCommit,
        DuckDBPass,
        OnOneExecutor,
        OnTwoExecutors,
    )
}

__all__ = ["CONTENDERS", "Contender"]
