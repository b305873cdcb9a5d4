"""One table's landed records, decoded by the embedded schemas that can be believed.

A broken record may have a schema as broken: a type changed, a column renamed. So a schema that
tells news of a table counts once some record of it could be read; what the others say becomes no
column and stops no table, and their records go to quarantine one by one.
"""

from collections import defaultdict
from collections.abc import Collection, Mapping
from dataclasses import dataclass, replace
from functools import reduce

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from strandline.cells import widening
from strandline.errors import Terminal
from strandline_spark import documents, verdict
from strandline_spark.connectors import Connector
from strandline_spark.decode import Decoder
from strandline_spark.documents import SchemaPair
from strandline_spark.shape import Known, Shape, Types, row_types, shape


@dataclass(frozen=True, slots=True)
class Reading:
    """The parsed `records` of a run, with their schemas, and what is known of their table."""

    records: DataFrame
    schemas: Mapping[int, SchemaPair]
    connector: Connector
    known: Known
    run: int

    def decoded(self) -> tuple[DataFrame, list[str]]:
        """The records as `Decoder.decode` gives them, and the table's columns that they have."""
        unread = [same for same in self._news() if not self._reads(same)]
        lost = {number for same in unread for number in same}
        rows, of = self._by(self.schemas.keys() - lost, self.known)
        alone = (self._by(same, self._unknown) for same in unread)
        refused = (each.drop(*shape.names) for each, shape in alone)
        return reduce(_joined, refused, rows), of.names

    def _by(self, numbers: Collection[int], known: Known) -> tuple[DataFrame, Shape]:
        """The records of some schemas, decoded, and the shape that these give the table."""
        schemas = {number: pair for number, pair in self.schemas.items() if number in numbers}
        every = len(schemas) == len(self.schemas)
        records = self.records if every else self.records.where(F.col("schema_id").isin(*schemas))
        of = shape(records, schemas, self.connector.rules, known)
        flat = [number for number, pair in schemas.items() if pair.flat]
        decoder = Decoder(of, self.connector, self.known.rules, self.run)
        return decoder.decode(documents.readable(records, schemas), flat), of

    @property
    def _unknown(self) -> Known:
        return replace(self.known, stored={})

    def _reads(self, same: Collection[int]) -> bool:
        """Whether some record of these schemas is a change; those that stop a table do so."""
        try:
            rows, _ = self._by(same, self._unknown)
        except Terminal:
            return True
        return not rows.where(F.col("_verdict") == verdict.CHANGE).isEmpty()

    def _news(self) -> list[list[int]]:
        """The schemas that say of columns what nothing else does, those together that say the same.

        Where there is but one, and nothing stored, there is nothing that it could harm.
        """
        alike: dict[frozenset[tuple[str, str]], list[int]] = defaultdict(list)
        of: dict[frozenset[tuple[str, str]], Types] = {}
        for number, pair in self.schemas.items():
            types = row_types(pair, self.connector.rules) if pair.value else {}
            if types:
                said = frozenset((name, kind.spark) for name, kind in types.items())
                alike[said].append(number)
                of[said] = types
        if len(alike) == 1 and not self.known.stored:
            return []
        return [same for said, same in alike.items() if not _fits(of[said], self.known.stored)]


def _fits(types: Types, stored: Types) -> bool:
    """Whether the columns are stored already, in types that hold these values."""
    if not types.keys() <= stored.keys():
        return False
    wider = {name: widening.widened(of, stored[name]) for name, of in types.items()}
    return all(wide and wide.spark == stored[name].spark for name, wide in wider.items())


def _joined(rows: DataFrame, refused: DataFrame) -> DataFrame:
    return rows.unionByName(refused, allowMissingColumns=True)
