"""Airflow's metadata database while it plays: SQLite, written by several processes."""

# Whoever finds it locked waits as long for the other, in seconds. With sqlite3's own 5 a scheduler
# ends that starts while a slow disk holds up somebody's commit.
CONNECT_ARGS = {"timeout": 60.0}
