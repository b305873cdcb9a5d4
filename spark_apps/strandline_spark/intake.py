"""What a run takes from the landing table: for its small tables all at once, for a large one alone.

Finding the files, reading them and looking through the schemas costs a run of many small tables
more than all their records.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from uuid import uuid4

from pyspark.sql import DataFrame, Observation, SparkSession
from pyspark.sql import functions as F

from strandline.runs.lake import SourceLake
from strandline.runs.manifest import Manifest, TableCut
from strandline_spark import documents, landing, small
from strandline_spark.checkpoint import kept
from strandline_spark.documents import SchemaPair

Schemas = Mapping[int, SchemaPair]


@dataclass(frozen=True, slots=True)
class Shared:
    """The landed records of small tables, kept, and their schemas by topic.

    `view` names the records; it is global, which is what sessions have in common. `whole`: whether
    it has all of them. Those with long values (`small.LONG`) are left out.
    """

    view: str
    schemas: Mapping[str, Schemas]
    whole: bool

    def of(self, spark: SparkSession, cut: TableCut) -> tuple[DataFrame, Schemas]:
        """The table's parsed records, in the session that asks, and their schemas."""
        landed = spark.table(f"global_temp.{self.view}").where(F.col("topic") == cut.topic)
        return documents.parsed(landed, _flattened([cut])), self.schemas.get(cut.topic, {})

    def release(self, spark: SparkSession) -> None:
        """Forgets the records."""
        spark.catalog.dropGlobalTempView(self.view)


def shared(spark: SparkSession, manifest: Manifest, cuts: Sequence[TableCut]) -> Shared:
    """Reads what the manifest pins of these tables, but for long values."""
    view, seen = f"landed_{uuid4().hex}", Observation("landed")
    is_long = F.coalesce(F.octet_length("value") > small.LONG, F.lit(False))
    every = _landed(spark, manifest, cuts).observe(seen, F.count_if(is_long).alias("long"))
    landed = kept(every.where(~is_long))
    landed.createGlobalTempView(view)
    schemas = documents.distinct_schemas(documents.parsed(landed, _flattened(cuts)))
    return Shared(view, schemas, whole=not seen.get["long"])


def parsed(landed: DataFrame, cut: TableCut) -> tuple[DataFrame, Schemas]:
    """One table's parsed records, read whenever they are needed, and their schemas."""
    records = documents.parsed(landed, _flattened([cut]))
    return records, documents.distinct_schemas(records).get(cut.topic, {})


def _landed(spark: SparkSession, manifest: Manifest, cuts: Sequence[TableCut]) -> DataFrame:
    lake = SourceLake(manifest.lake, manifest.source)
    ranges = [offsets for cut in cuts for offsets in cut.ranges]
    return landing.records(spark, lake.landing, manifest.landing_version, ranges)


def _flattened(cuts: Sequence[TableCut]) -> dict[str, bool]:
    told = {cut.topic: cut.rules.flattened for cut in cuts}
    return {topic: flattened for topic, flattened in told.items() if flattened is not None}
