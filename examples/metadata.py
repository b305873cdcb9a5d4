"""Airflow's metadata database while it plays: SQLite, written by several processes."""

import sqlite3
from typing import Any


class Unsynced(sqlite3.Connection):
    """Leaves it to the system when what was written reaches the disk.

    A play's database begins anew with the play, so there is nothing for a power cut to break. On a
    disk that takes a second to sync, a commit would lock everyone else out for that second, and
    SQLite lets those who wait in by chance: one may never have his turn.
    """

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        self.execute("PRAGMA synchronous=OFF").close()


# Whoever finds it locked waits as long for the other, in seconds. With sqlite3's own 5 a scheduler
# ended that started while somebody's commit lasted longer.
CONNECT_ARGS = {"timeout": 60.0, "factory": Unsynced}
