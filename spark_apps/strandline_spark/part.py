"""One table's part of a run: what is to be done, with what, and where."""

from dataclasses import dataclass

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from strandline.runs.lake import SourceLake
from strandline.runs.manifest import Manifest, TableCut
from strandline_spark import delta, landing
from strandline_spark.connectors import CONNECTORS, Connector
from strandline_spark.control import Announced
from strandline_spark.intake import Shared


@dataclass(frozen=True, slots=True)
class Part:
    """One table's part of a manifest; `spark` is a session of its own.

    `refused`: whether earlier runs put records of the table into quarantine; `small`: whether what
    arrived is quicker kept than read again; `shared`: where it was read with that of other tables.
    """

    spark: SparkSession
    manifest: Manifest
    cut: TableCut
    announced: Announced
    refused: bool
    small: bool
    shared: Shared | None = None

    @property
    def connector(self) -> Connector:
        return CONNECTORS[self.manifest.connector]

    @property
    def lake(self) -> SourceLake:
        return SourceLake(self.manifest.lake, self.manifest.source)

    @property
    def run(self) -> int:
        return self.manifest.number

    def landed(self) -> DataFrame:
        """The records of the run."""
        return landing.records(
            self.spark, self.lake.landing, self.manifest.landing_version, self.cut.ranges
        )

    def quarantine(self) -> DataFrame:
        """The table's part of the quarantine."""
        return delta.read(self.spark, self.lake.quarantine).where(F.col("table") == self.cut.table)
