"""The entries of a metastore, as Spark itself would have made them by the same statement in SQL.

A history is an external Delta table, which Trino takes, too. Views and functions are Spark's:
their text is in Spark's SQL, and Spark keeps what it needs of them in parameters of its own.
"""

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import Any

from pymetastore.hive_metastore.ttypes import (
    FieldSchema,
    Function,
    FunctionType,
    PrincipalType,
    ResourceType,
    ResourceUri,
    SerDeInfo,
    StorageDescriptor,
    Table,
)

from strandline.changes.columns import IS_CURRENT, VALID_FROM, VALID_TO
from strandline.sources.catalog import AS_OF, CURRENT, PUBLISHED
from strandline_airflow.metastore import sql

SOURCE = "strandline.source"  # the parameter that says whose entry it is
_VERSION = "strandline.version"  # of the history that a view is pinned to

_SPARK = "4.2.0"  # the release whose form this is
_SCHEMA = "spark.sql.sources.schema"
_SESSION_CATALOG = "spark_catalog"
# What holds where the text is read, whatever the reader's session has.
_CONFIGS = {
    "spark.sql.ansi.enabled": "true",
    f"spark.sql.catalog.{_SESSION_CATALOG}": "org.apache.spark.sql.delta.catalog.DeltaCatalog",
}
_UNCOUNTED = "DO_NOT_UPDATE_STATS"  # else the metastore lists the folder
_PART = 3_997  # letters of one resource of a function, behind its number of three digits


@dataclass(frozen=True, slots=True)
class Entries:
    """Makes the entries of a source; `owner` is whose name they bear."""

    source: str
    owner: str

    def table(self, database: str, name: str, uri: str) -> Table:
        """The Delta table at a URI or in a folder."""
        path = _absolute(uri)
        placeholder = FieldSchema("col", "array<string>", "from deserializer")
        return self._entry(
            database,
            name,
            {
                "EXTERNAL": "TRUE",
                _UNCOUNTED: "true",
                "spark.sql.partitionProvider": "catalog",
                "spark.sql.sources.provider": "delta",
                _SCHEMA: '{"type":"struct","fields":[]}',  # it is in Delta's log
            },
            tableType="EXTERNAL_TABLE",
            sd=_storage([placeholder], path, {"path": path}),
        )

    def pinned(
        self, database: str, name: str, schema: str, version: int, of: tuple[str, str]
    ) -> Table:
        """The view of one version of a history, the table `of`; `schema` is its columns in JSON.

        It remembers the version, so that its columns are known to be those.
        """
        rows = f"{sql.qualified(*of)} VERSION AS OF {version}"
        return self._view(database, name, schema, rows, {_VERSION: str(version)})

    def current(self, database: str, name: str, schema: str) -> Table:
        """The view of the rows of now, of what is published."""
        rows = f"{sql.qualified(database, name + PUBLISHED)} WHERE {IS_CURRENT}"
        return self._view(database, name + CURRENT, schema, rows)

    def as_of(self, database: str, name: str, schema: str) -> Function:
        """The table function of the rows at a time, of what is published."""
        own = name + AS_OF
        fields = sql.shown(schema)
        at = f"{sql.quoted(own)}.at"  # a column may be called `at` as well
        text = (
            f"SELECT {sql.names(fields)} FROM {sql.qualified(database, name + PUBLISHED)} "  # noqa: S608 - names are quoted
            f"WHERE {VALID_FROM} <= {at} AND ({VALID_TO} > {at} OR {VALID_TO} IS NULL)"
        )
        properties = {
            **_home(""),
            **{f"sqlConfig.{key}": value for key, value in _CONFIGS.items()},
            "sqlFunction.inputParam": "at TIMESTAMP",
            "sqlFunction.returnType": ", ".join(
                f"{sql.quoted(field['name'])} {sql.ddl(field['type'])}" for field in fields
            ),
            "sqlFunction.query": text,
            "sqlFunction.isTableFunc": "true",
            "sqlFunction.deterministic": "true",
            "sqlFunction.containsSQL": "false",
            SOURCE: self.source,
        }
        return Function(
            functionName=own,
            dbName=database,
            className="sqlFunction.",
            ownerName=self.owner,
            ownerType=PrincipalType.USER,
            createTime=0,
            functionType=FunctionType.JAVA,
            resourceUris=_parts(json.dumps(properties, sort_keys=True)),
        )

    def _view(
        self,
        database: str,
        name: str,
        schema: str,
        rows: str,
        more: Mapping[str, str] = MappingProxyType({}),
    ) -> Table:
        fields = sql.shown(schema)
        text = f"SELECT {sql.names(fields)} FROM {rows}"  # noqa: S608 - names are quoted
        outputs = {f"view.query.out.col.{n}": field["name"] for n, field in enumerate(fields)}
        return self._entry(
            database,
            name,
            {
                **_home("view."),
                **{f"view.sqlConfig.{key}": value for key, value in _CONFIGS.items()},
                "view.schemaMode": "COMPENSATION",
                **more,
                "view.query.out.numCols": str(len(fields)),
                **outputs,
                _SCHEMA: json.dumps({"type": "struct", "fields": fields}, separators=(",", ":")),
            },
            tableType="VIRTUAL_VIEW",
            sd=_storage([], None, {}),
            viewOriginalText=text,
            viewExpandedText=text,
        )

    def _entry(
        self, database: str, name: str, parameters: Mapping[str, str], **rest: object
    ) -> Table:
        own = {"spark.sql.create.version": _SPARK, SOURCE: self.source}
        return Table(
            tableName=name,
            dbName=database,
            owner=self.owner,
            createTime=0,
            lastAccessTime=0,
            retention=0,
            partitionKeys=[],
            parameters={**parameters, **own},
            **rest,
        )


def is_of(entry: Table | Function, source: str) -> bool:
    """Whether an entry was made for the source."""
    if isinstance(entry, Function):
        return bool(_properties(entry).get(SOURCE) == source)
    return bool((entry.parameters or {}).get(SOURCE) == source)


def columns(view: Table | None, version: int) -> str | None:
    """The schema of a view, in JSON; None where it is not that of the version of the history."""
    told = {} if view is None else view.parameters or {}
    return told.get(_SCHEMA) if told.get(_VERSION) == str(version) else None


def says(there: Table | Function, wanted: Table | Function) -> bool:
    """Whether the entry that is there says already what is wanted of it."""
    if isinstance(wanted, Function):
        return _properties(there) == _properties(wanted)
    told = there.parameters or {}
    return (
        all(told.get(name) == value for name, value in _lasting(wanted.parameters))
        and there.viewOriginalText == wanted.viewOriginalText
        and there.tableType == wanted.tableType
        and _path(there) == _path(wanted)
    )


def _lasting(parameters: Mapping[str, str]) -> Iterable[tuple[str, str]]:
    """The parameters that a metastore keeps: not what only says how to create a table."""
    return ((name, value) for name, value in parameters.items() if name != _UNCOUNTED)


def _path(table: Table) -> str | None:
    return (table.sd.serdeInfo.parameters or {}).get("path")


def _properties(function: Function) -> Mapping[str, Any]:
    """What Spark keeps of a function; empty where it is none of Spark's SQL."""
    try:
        found = json.loads("".join(each.uri[3:] for each in function.resourceUris or ()))
    except ValueError:
        return {}
    return found if isinstance(found, dict) else {}


def _parts(text: str) -> list[ResourceUri]:
    return [
        ResourceUri(ResourceType.FILE, f"{number:03d}{text[begin : begin + _PART]}")
        for number, begin in enumerate(range(0, len(text), _PART))
    ]


def _storage(
    columns: Sequence[FieldSchema], location: str | None, parameters: Mapping[str, str]
) -> StorageDescriptor:
    return StorageDescriptor(
        cols=list(columns),
        location=location,
        inputFormat="org.apache.hadoop.mapred.SequenceFileInputFormat",
        outputFormat="org.apache.hadoop.hive.ql.io.HiveSequenceFileOutputFormat",
        compressed=False,
        numBuckets=-1,
        serdeInfo=SerDeInfo(
            serializationLib="org.apache.hadoop.hive.serde2.lazy.LazySimpleSerDe",
            parameters={"serialization.format": "1", **parameters},
        ),
        bucketCols=[],
        sortCols=[],
        parameters={},
    )


def _home(prefix: str) -> dict[str, str]:
    """Where names of the text are looked for that say no catalog."""
    return {
        f"{prefix}catalogAndNamespace.numParts": "2",
        f"{prefix}catalogAndNamespace.part.0": _SESSION_CATALOG,
        f"{prefix}catalogAndNamespace.part.1": "default",
    }


def _absolute(uri: str) -> str:
    """The place for processes that run in another folder; Hadoop reads a URI as it stands."""
    return uri if "://" in uri else f"file:{Path(uri).absolute()}"
