"""A Hive metastore behind an Airflow connection, by Thrift, as Spark and Trino speak to it too.

The connection's `host` (several with commas between them) and `port` are the addresses, the first
that answers is taken; `login` is whose name new entries bear. `ssl` in its `extra` is true where
the metastore speaks TLS, with `ca`, `certificate`, `key` and `key_password` as a registry's have.
"""

import logging
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Self

from airflow.sdk import Connection
from pymetastore.hive_metastore.ThriftHiveMetastore import Client
from pymetastore.hive_metastore.ttypes import (
    AlreadyExistsException,
    Database,
    Function,
    GetTablesRequest,
    NoSuchObjectException,
    Table,
)
from thrift.protocol.TBinaryProtocol import TBinaryProtocolAccelerated
from thrift.Thrift import TException
from thrift.transport.TSocket import TSocket
from thrift.transport.TSSLSocket import TSSLSocket
from thrift.transport.TTransport import TBufferedTransport, TTransportException

from strandline.errors import Terminal, Transient
from strandline_airflow import connections, trust

log = logging.getLogger(__name__)

_PORT = 9083
_CONNECTING, _PATIENCE = 10_000, 60_000  # milliseconds for a connection, and for one answer
_TELLING = 300  # letters of an answer that are repeated
_AGAIN = (
    "what is published stands, and the next attempt or the next run registers what this one could "
    "not"
)


class Metastore:
    """What a metastore is asked, until it is closed.

    Raises `Terminal` where the connection is missing or cannot be used, `Transient` where no
    address answers, or not with what was asked for.
    """

    def __init__(self, connection_name: str) -> None:
        options = f"--conn-type generic --conn-host HOST --conn-port {_PORT}"
        connection = connections.named(connection_name, "[catalog]", options)
        self._name = connection_name
        self._hosts = [host.strip() for host in (connection.host or "").split(",") if host.strip()]
        self._port = connection.port or _PORT
        self.owner = connection.login or ""
        if not self._hosts:
            raise Terminal(
                f"Airflow connection '{connection_name}' has no host: give it that of the Hive "
                f"metastore, and its port where that is not {_PORT}"
            )
        self._transport, self._client = self._opened(connection)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._transport.close()

    def __str__(self) -> str:
        hosts = ", ".join(f"{host}:{self._port}" for host in self._hosts)
        return f"Hive metastore {hosts} of Airflow connection '{self._name}'"

    def database(self, name: str) -> Database | None:
        """A database; None where there is none."""
        with self._asked(name):
            return _found(self._client.get_database, name)

    def databases(self, pattern: str) -> list[str]:
        """The names of databases; `*` in the pattern stands for any letters."""
        with self._asked(pattern):
            return list(self._client.get_databases(pattern))

    def create_database(self, database: Database) -> None:
        """Creates a database where the metastore has its databases by default."""
        with self._asked(database.name):
            self._client.create_database(database)

    def drop_database(self, name: str) -> None:
        """Drops a database that has nothing in it."""
        with self._asked(name):
            self._client.drop_database(name, deleteData=True, cascade=False)

    def tables(self, database: str) -> list[Table]:
        """All tables and views of a database."""
        with self._asked(database):
            names = self._client.get_all_tables(database)
            asked = GetTablesRequest(database, names)  # Hive 4 has no call that takes names alone
            return list(self._client.get_table_objects_by_name_req(asked).tables) if names else []

    def create_table(self, table: Table) -> None:
        """Creates a table or a view."""
        with self._asked(f"{table.dbName}.{table.tableName}"):
            self._client.create_table(table)

    def alter_table(self, table: Table) -> None:
        """Puts a table or a view in the place of that of the same name."""
        with self._asked(f"{table.dbName}.{table.tableName}"):
            self._client.alter_table(table.dbName, table.tableName, table)

    def drop_table(self, database: str, name: str) -> None:
        """Drops a table or a view, and no data."""
        with self._asked(f"{database}.{name}"):
            self._client.drop_table(database, name, deleteData=False)

    def functions(self, database: str) -> set[str]:
        """The names of the functions of a database."""
        with self._asked(database):
            return set(self._client.get_functions(database, "*"))

    def function(self, database: str, name: str) -> Function:
        """A function that is there."""
        with self._asked(f"{database}.{name}"):
            return self._client.get_function(database, name)

    def create_function(self, function: Function) -> None:
        """Creates a function."""
        with self._asked(f"{function.dbName}.{function.functionName}"):
            self._client.create_function(function)

    def drop_function(self, database: str, name: str) -> None:
        """Drops a function. An altered one would keep its text: Hive 2 alters what is beside it."""
        with self._asked(f"{database}.{name}"):
            self._client.drop_function(database, name)

    def _opened(self, connection: Connection) -> tuple[TBufferedTransport, Client]:
        extra: dict[str, Any] = connection.extra_dejson
        context = trust.context(self._name, extra) if extra.get("ssl") else None
        said = []
        for host in self._hosts:
            socket = (
                TSocket(host, self._port)
                if context is None
                else TSSLSocket(host, self._port, ssl_context=context)
            )
            socket.setTimeout(_CONNECTING)
            transport = TBufferedTransport(socket)
            try:
                transport.open()
            except TTransportException as error:
                said.append(f"{host}:{self._port}: {_told(error)}")
            else:
                socket.setTimeout(_PATIENCE)
                return transport, Client(TBinaryProtocolAccelerated(transport))
        raise Transient(f"the {self} cannot be reached ({'; '.join(said)}): {_AGAIN}")

    @contextmanager
    def _asked(self, what: str) -> Iterator[None]:
        try:
            yield
        except AlreadyExistsException as error:
            raise Transient(f"the {self}: another run registers {what} just now") from error
        except TTransportException as error:
            raise Transient(f"the {self} does not answer ({_told(error)}): {_AGAIN}") from error
        except TException as error:
            raise Transient(f"the {self} refuses {what} ({_told(error)}): {_AGAIN}") from error


def _found(ask: Any, *names: str) -> Any:
    try:
        return ask(*names)
    except NoSuchObjectException:
        return None


def _told(error: TException) -> str:
    """What is said to be wrong, in one short line."""
    said = getattr(error, "message", None) or str(error)
    return f"{type(error).__name__}: {' '.join(str(said).split())[:_TELLING]}"
