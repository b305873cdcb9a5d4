"""Each connector's records, as it would send them; one module each."""

from workloads.emitters.bmdbdb import BMDBDB
from workloads.emitters.db2 import Db2
from workloads.emitters.emitter import Emitter
from workloads.emitters.mysql import MariaDB, MySQL, Tencent
from workloads.emitters.oracle import Oracle
from workloads.emitters.postgresql import PostgreSQL
from workloads.emitters.sqlserver import SQLServer

SOURCES: dict[str, type[Emitter]] = {
    "postgresql": PostgreSQL,
    "mysql": MySQL,
    "mariadb": MariaDB,
    "tencent": Tencent,
    "sqlserver": SQLServer,
    "db2": Db2,
    "oracle": Oracle,
    "bmdbdb": BMDBDB,
}

__all__ = ["SOURCES", "Emitter"]
