"""A PostgreSQL in processes of its own, for Airflow's metadata; `setup.sh postgres` fetches it.

It listens on the loopback interface only and forgets all when it stops. It refuses to run as root,
and is somebody else where a test is root.
"""

import os
import secrets
import shutil
import signal
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import psycopg2
from servers.server import wait_until_ready

from examples import keeper, sessions
from installations.site import a_port

PROGRAMS = Path(__file__).resolve().parents[2] / ".venv" / "postgres" / "bin"
_OTHER = "nobody"
_START_SECONDS = 60


@contextmanager
def opened() -> Iterator[str]:
    """An empty database: its address without the scheme, `user:password@host:port/name`."""
    if not (PROGRAMS / "postgres").exists():
        raise FileNotFoundError(f"{PROGRAMS} has no PostgreSQL: type sh setup.sh postgres")
    folder = Path(tempfile.mkdtemp(prefix="strandline-postgres-"))  # where anybody gets
    password, port = secrets.token_hex(16), a_port()
    data = _made(folder, password)
    told = {
        "listen_addresses": "127.0.0.1",
        "port": port,
        "unix_socket_directories": "",
        "fsync": "off",
    }
    settings = [word for name, value in told.items() for word in ("-c", f"{name}={value}")]
    command = [*_somebody(), str(PROGRAMS / "postgres"), "-D", str(data), *settings]
    process = keeper.started({"postgres": command}, os.environ, folder)
    address = f"postgres:{password}@127.0.0.1:{port}/postgres"
    try:
        log = folder / "postgres.log"
        wait_until_ready(process, lambda: _answers(f"postgresql://{address}"), log, _START_SECONDS)
        yield address
    finally:
        # In order, or a piece of shared memory stays behind.
        subprocess.run(
            [*_somebody(), str(PROGRAMS / "pg_ctl"), "stop", "-D", str(data)],
            check=False,
            capture_output=True,
        )
        sessions.end([process], signal.SIGKILL)
        shutil.rmtree(folder)


def _made(folder: Path, password: str) -> Path:
    """A new cluster of databases; the password is never an argument."""
    data, file = folder / "data", folder / "password"
    file.write_text(password, encoding="utf-8")
    if _somebody():
        for path in (folder, file):
            shutil.chown(path, _OTHER)
    asked = ["--username=postgres", "--auth=scram-sha-256", f"--pwfile={file}", "--no-sync"]
    subprocess.run(
        [*_somebody(), str(PROGRAMS / "initdb"), f"--pgdata={data}", "--encoding=UTF8", *asked],
        check=True,
        capture_output=True,
    )
    return data


def _somebody() -> list[str]:
    if os.geteuid() != 0:
        return []
    return ["setpriv", f"--reuid={_OTHER}", "--clear-groups", "--"]


def _answers(address: str) -> bool:
    try:
        psycopg2.connect(address).close()
    except psycopg2.OperationalError:
        return False
    return True
