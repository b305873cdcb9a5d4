"""Registers what is published in a metastore: all that it lacks or has otherwise, and no more.

What is to be there follows from the last publication and from what the lake has, so doing it again
changes nothing, and whatever could not be done is done by the next run, with or without news.
"""

import logging
from collections import Counter
from collections.abc import Iterable

from pymetastore.hive_metastore.ttypes import Database, Function, Table

from strandline.alone.stores.tables import opened
from strandline.errors import Terminal
from strandline.runs.lake import SourceLake
from strandline.runs.manifest import Work
from strandline.sources.catalog import PUBLICATIONS, PUBLISHED, Catalog
from strandline.sources.source import Source
from strandline_airflow.metastore.client import Metastore
from strandline_airflow.metastore.entries import SOURCE, Entries, columns, is_of, says
from strandline_airflow.runs.publications import Publications
from strandline_airflow.runs.published import Published

log = logging.getLogger(__name__)


def register(source: Source) -> None:
    """Brings the metastore of the source's catalog to what is published.

    Raises `Terminal`, once all else is registered, where a name is taken by what is not this
    source's, or by two of its tables; `Transient` where the metastore does not answer.
    """
    catalog = source.catalog
    if catalog is None:
        raise Terminal(f"source {source.name} has no [catalog] any more")
    publications = Publications(SourceLake(source.lake, source.name))
    rows = [row for row in publications.last() if row.table and row.history_version >= 0]
    if not rows:
        log.info("Nothing of %s is published yet, so there is nothing to register", source.name)
        return
    with Metastore(catalog.connection) as metastore:
        run = _Registration(source, catalog, metastore)
        run.histories(rows)
        run.cuts(rows, publications.last_of(Work.ERASE))
        log.info(
            "Database %s of the %s: %s",
            catalog.database,
            metastore,
            ", ".join(f"{count} {what}" for what, count in sorted(run.did.items())) or "as it was",
        )
    if run.faults:
        raise Terminal(f"registered all but: {'; '.join(run.faults)}")


class _Registration:
    def __init__(self, source: Source, catalog: Catalog, metastore: Metastore) -> None:
        self._source = source
        self._catalog = catalog
        self._metastore = metastore
        self._lake = SourceLake(source.lake, source.name)
        self._make = Entries(source.name, metastore.owner)
        self.did: Counter[str] = Counter()
        self.faults: list[str] = []
        self._schemas: dict[str, str] = {}

    def histories(self, rows: Iterable[Published]) -> None:
        """The tables, their views and functions, and the table of publications.

        What an earlier run called otherwise goes.
        """
        own, database, make = self._catalog, self._catalog.database, self._make
        self._has_database(database)
        there = {entry.tableName: entry for entry in self._metastore.tables(database)}
        entries = [make.table(database, PUBLICATIONS, self._lake.publications)]
        functions = []
        for row in self._named(rows):
            table, version = str(row.table), row.history_version
            name = own.name(table)
            schema = self._schema(table, version, there.get(name + PUBLISHED))
            entries += [
                make.table(database, name, self._lake.history(table)),
                make.pinned(database, name + PUBLISHED, schema, version, (database, name)),
                make.current(database, name, schema),
            ]
            functions.append(make.as_of(database, name, schema))
        self._put_all(entries, there)
        self._put_functions(database, functions)

    def cuts(self, rows: Iterable[Published], erased: int) -> None:
        """A database of the last publication's versions; those that are not kept go.

        `erased` is the number of the last run that erased keys: no version before it is readable.
        """
        number = max(row.number for row in rows)
        there = {
            found: name
            for name in self._metastore.databases(self._catalog.cut("*"))
            if (found := self._catalog.number(name)) is not None and self._is_own(name)
        }
        kept = sorted({*there, number})[-self._catalog.publications :]
        if self._catalog.publications:
            self._cut(number, rows)
        for each, name in there.items():
            if each < erased or each not in kept or not self._catalog.publications:
                self._drop(name)

    def _cut(self, number: int, rows: Iterable[Published]) -> None:
        database = self._catalog.cut(number)
        self._has_database(database)
        if not self._is_own(database):
            self._foreign(database)
            return
        views = []
        for row in self._named(rows):
            table, version = str(row.table), row.history_version
            name = self._catalog.name(table)
            of = (self._catalog.database, name)
            views.append(self._make.pinned(database, name, self._schemas[table], version, of))
        there = {entry.tableName: entry for entry in self._metastore.tables(database)}
        self._put_all(views, there)

    def _named(self, rows: Iterable[Published]) -> list[Published]:
        """The rows of the tables that can have a name; of the others it is a fault."""
        clashes = self._catalog.clashes(str(row.table) for row in rows)
        for table, why in clashes.items():
            self._fault(f"table '{table}': {why}")
        return [row for row in rows if row.table not in clashes]

    def _schema(self, table: str, version: int, view: Table | None) -> str:
        """The columns of a history: a table without news is not looked at for them."""
        known = columns(view, version)
        if known is None:
            uri = self._lake.history(table)
            stored = opened(uri, version)
            if stored is None:
                raise Terminal(f"there is no history at {uri}, which is published: restore it")
            known = stored.schema().to_json()
        self._schemas[table] = known
        return known

    def _has_database(self, name: str) -> None:
        if self._metastore.database(name) is None:
            what = f"Histories of source {self._source.name}, by Strandline"
            self._metastore.create_database(
                Database(name, what, parameters={SOURCE: self._source.name})
            )
            self.did["databases new"] += 1

    def _is_own(self, database: str) -> bool:
        found = self._metastore.database(database)
        return found is not None and (found.parameters or {}).get(SOURCE) == self._source.name

    def _put_all(self, entries: Iterable[Table], there: dict[str, Table]) -> None:
        for entry in entries:
            found = there.pop(entry.tableName, None)
            if found is None:
                self._metastore.create_table(entry)
                self.did["tables and views new"] += 1
            elif not is_of(found, self._source.name):
                self._foreign(f"{entry.dbName}.{entry.tableName}")
            elif not says(found, entry):
                self._metastore.alter_table(entry)
                self.did["tables and views changed"] += 1
        for name, found in there.items():
            if is_of(found, self._source.name):
                self._metastore.drop_table(found.dbName, name)
                self.did["tables and views dropped"] += 1

    def _put_functions(self, database: str, functions: Iterable[Function]) -> None:
        names = self._metastore.functions(database)
        there = {name: self._metastore.function(database, name) for name in names}
        for function in functions:
            found = there.pop(function.functionName, None)
            if found is None:
                self._metastore.create_function(function)
                self.did["functions new"] += 1
            elif not is_of(found, self._source.name):
                self._foreign(f"{database}.{function.functionName}")
            elif not says(found, function):
                self._metastore.drop_function(database, function.functionName)
                self._metastore.create_function(function)
                self.did["functions changed"] += 1
        for name, found in there.items():
            if is_of(found, self._source.name):
                self._metastore.drop_function(database, name)
                self.did["functions dropped"] += 1

    def _foreign(self, what: str) -> None:
        self._fault(
            f"{what} is there, and not of source '{self._source.name}': drop it, or name another "
            "'database' in [catalog], or another name in [catalog.names]"
        )

    def _fault(self, text: str) -> None:
        if text not in self.faults:
            self.faults.append(text)

    def _drop(self, database: str) -> None:
        """Drops the database of a cut; one in which somebody has put something stays."""
        entries = self._metastore.tables(database)
        own = [entry for entry in entries if is_of(entry, self._source.name)]
        if len(own) < len(entries):
            log.warning("Database %s is not dropped: it has what Strandline did not make", database)
            return
        for entry in own:
            self._metastore.drop_table(database, entry.tableName)
        self._metastore.drop_database(database)
        self.did["databases dropped"] += 1
