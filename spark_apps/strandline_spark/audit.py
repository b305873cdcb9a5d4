"""The audit before the commit: law 5 of README.md on the keys that a run touches."""

from dataclasses import dataclass

from pyspark.sql import DataFrame, Observation
from pyspark.sql import functions as F

from strandline.errors import AuditError
from strandline_spark.changes import quoted
from strandline_spark.checkpoint import kept
from strandline_spark.windows import of_key, packed


@dataclass(frozen=True, slots=True)
class Written:
    """How many versions a run writes, how many of them open, and of how many keys."""

    rows: int
    live: int
    heads: int


NOTHING = Written(0, 0, 0)

# What tells whether the versions of a key follow each other.
_SEAM = (
    "_key", "_seq_from", "_seq_to", "_valid_from", "_valid_to", "_is_head", "_is_current",
)  # fmt: skip


def audited(versions: DataFrame, topic: str) -> tuple[DataFrame, Written]:
    """The versions, computed and kept, and their number; `AuditError` where law 5 does not hold.

    Appended keys bring their old head along, so the seam to the older history is checked as well.
    Expects `hashed` versions and gives them back without.
    """
    order = of_key().orderBy("_seq_from")
    following = F.lead("_seq_from").over(order)
    end = F.col("_seq_to")
    broken = (
        (end <= F.col("_seq_from"))
        | (following < end)
        | (end.isNull() & following.isNotNull())
        | (F.col("_valid_to") < F.col("_valid_from"))
        | (F.col("_is_head") != following.isNull())
        | (F.col("_is_current") != end.isNull())
    )
    seen = Observation("audit")
    names = [name for name in versions.columns if name != "_hash"]
    seams = packed(versions, "_carried", [name for name in names if name not in _SEAM])
    counted = seams.withColumn("_broken", F.coalesce(broken, F.lit(False))).observe(
        seen,
        F.count("*").alias("rows"),
        F.count_if("_is_current").alias("live"),
        F.count_if("_is_head").alias("heads"),
        F.count_if("_broken").alias("broken"),
        F.min(F.when(F.col("_broken"), F.col("_key"))).alias("key"),
    )
    rows = counted.select(*_SEAM, "_carried.*").select(*map(quoted, names))
    rows, found = kept(rows), seen.get
    if found["broken"]:
        raise AuditError(
            f"{topic}: {found['broken']} versions would overlap or stand open twice, e.g. of key "
            f"{found['key']}; nothing was committed. This is a fault of Strandline: keep the lake "
            "and report it"
        )
    return rows, Written(found["rows"], found["live"], found["heads"])
