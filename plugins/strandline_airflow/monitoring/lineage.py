"""Lineage of what a run published: from topics to histories, column by column, as OpenLineage.

Airflow's OpenLineage provider sends it, as part of what it tells of the task. Where that is not
installed or not configured nothing is read and nothing imported. Names are those of OpenLineage's
rules, so that a topic is the one that Debezium's own lineage ends in.
"""
# ruff: noqa: PLC0415 - the provider is optional

import logging
import re
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING

from airflow.sdk import BaseHook
from deltalake import DeltaTable

from strandline.alone.stores import tables
from strandline.changes.version import COLUMNS, INTERNAL_COLUMNS
from strandline.runs.lake import SourceLake
from strandline.sources.source import Source
from strandline_airflow.runs.published import Published

if TYPE_CHECKING:
    from openlineage.client.event_v2 import Dataset, OutputDataset
    from openlineage.client.naming.dataset import DatasetNaming

log = logging.getLogger(__name__)

# The provider's plugin has loaded it in every task where OpenLineage is configured. The import
# takes half a second, of which a task that tells nobody is to know nothing.
_LISTENER = "airflow.providers.openlineage.plugins.listener"
_SERVER = re.compile(r"(?:\w+://)?(?P<host>\[[^]]+\]|[^:,]+)(?::(?P<port>\d+))?")
_ENGINES = frozenset(name for name, _ in (*COLUMNS, *INTERNAL_COLUMNS))


def tell(source: Source, published: Iterable[Published]) -> None:
    """Tells of the histories that a run changed; what hinders that is logged, and fails no run."""
    changed = list(published)
    if _LISTENER not in sys.modules or not changed:
        return
    try:
        from airflow.providers.openlineage.api import emit_dataset_lineage, is_openlineage_active

        if not is_openlineage_active():
            return
        servers = BaseHook.get_connection(source.kafka_connection).extra_dejson["bootstrap.servers"]
        pairs = [(_topic(servers, row.topic), row) for row in changed]
        emit_dataset_lineage(
            inputs=[topic for topic, _ in pairs],
            outputs=[_history(source, row, topic) for topic, row in pairs],
        )
    except Exception as error:  # noqa: BLE001 - what was published stands, whatever it is
        log.warning(
            "The run is published, but its lineage was not told: %s: %s",
            type(error).__name__,
            error,
        )


def _topic(servers: str, topic: str) -> "Dataset":
    """The topic as an input; a cluster is called by the first of its servers."""
    from openlineage.client.event_v2 import Dataset
    from openlineage.client.naming.dataset import Kafka

    first = _SERVER.match(servers.strip())
    host, port = (first["host"], first["port"]) if first else (servers, None)
    named = Kafka(host, port or "9092", topic)
    return Dataset(named.get_namespace(), named.get_name())


def _history(source: Source, row: Published, topic: "Dataset") -> "OutputDataset":
    """The history as an output, at the version that was published."""
    from openlineage.client.event_v2 import OutputDataset
    from openlineage.client.facet_v2 import (
        column_lineage_dataset,
        dataset_version_dataset,
        output_statistics_output_dataset,
        schema_dataset,
    )

    uri = SourceLake(source.lake, source.name).history(str(row.table))
    columns = _columns(tables.opened(uri, row.history_version))
    theirs = {new: name for name, new in source.rules(row.topic).renamed_to.items()}
    same = column_lineage_dataset.Transformation("DIRECT", "IDENTITY", masking=False)
    lineage = {
        name: column_lineage_dataset.Fields(
            [
                column_lineage_dataset.InputField(
                    topic.namespace, topic.name, theirs.get(name, name), [same]
                )
            ]
        )
        for name in columns
        if name not in _ENGINES
    }
    named = dataset(uri)
    return OutputDataset(
        named.get_namespace(),
        named.get_name(),
        facets={
            "schema": schema_dataset.SchemaDatasetFacet(
                [schema_dataset.SchemaDatasetFacetFields(name, of) for name, of in columns.items()]
            ),
            "columnLineage": column_lineage_dataset.ColumnLineageDatasetFacet(lineage),
            "version": dataset_version_dataset.DatasetVersionDatasetFacet(str(row.history_version)),
        },
        outputFacets={
            "outputStatistics": output_statistics_output_dataset.OutputStatisticsOutputDatasetFacet(
                rowCount=row.counts.rows_written
            )
        },
    )


def dataset(uri: str) -> "DatasetNaming":
    """What OpenLineage calls a folder of a lake; `ValueError` where it has no rule for a store."""
    from openlineage.client.naming import dataset as naming

    scheme, _, place = uri.rpartition("://")
    store, _, key = place.partition("/")
    match scheme:
        case "" | "file":
            return naming.LocalFileSystem(str(Path(place).absolute()))
        case "s3" | "s3a":
            return naming.S3(store, key)
        case "gs":
            return naming.GCS(store, key)
        case "abfs" | "abfss":
            container, _, account = store.partition("@")
            return naming.ABFSS(container, account.partition(".")[0], key)
        case "hdfs":
            host, _, port = store.partition(":")
            return naming.HDFS(host, port or "8020", f"/{key}")
        case _:
            raise ValueError(f"OpenLineage has no name for tables at {scheme}://")


def _columns(history: DeltaTable | None) -> dict[str, str]:
    """The columns of a history, with their types in Delta's words."""
    fields = [] if history is None else history.schema().fields
    return {each.name: str(getattr(each.type, "type", each.type)) for each in fields}
