"""Creates the pools that the DAGs name: `python -m strandline_airflow.pools [FOLDER]`.

A task in a pool that does not exist waits for ever. The first run of a source makes its pool (see
`listener`); this makes them all beforehand, and running it again changes nothing.
"""

import json
import subprocess
import sys
import tempfile
from collections.abc import Iterable, Sequence
from pathlib import Path

from strandline.errors import Transient
from strandline.sources.source import Source
from strandline_airflow import listener
from strandline_airflow.dag import load
from strandline_airflow.folder import folder_of_sources
from strandline_airflow.pipelines.names import pool_name


def main(arguments: Sequence[str]) -> int:
    """Makes the pools of all valid sources and tells them; 1 where a source file is not right."""
    folder = Path(arguments[0]) if arguments else folder_of_sources()
    loaded = load(folder)
    sys.stdout.write("".join(f"pool {pool}\n" for pool in create(loaded.sources)))
    if not loaded.sources and not loaded.refused:
        sys.stderr.write(f"{folder}: no source file, so there is no pool to make\n")
    sys.stderr.write("".join(f"{line}\n" for line in loaded.refused))
    return 1 if loaded.refused else 0


def create(sources: Iterable[Source]) -> list[str]:
    """Creates the pools of the sources by Airflow's own command; returns their names.

    Raises `Transient` with what the command said where it fails.
    """
    names = [pool_name(source) for source in sources]
    if names:
        made = {name: listener.settings(name) for name in names}
        with tempfile.TemporaryDirectory(prefix="strandline-") as folder:
            file = Path(folder) / "pools.json"
            file.write_text(json.dumps(made))
            _airflow("pools", "import", str(file))
    return names


def _airflow(*arguments: str) -> None:
    command = [sys.executable, "-m", "airflow", *arguments]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        said = (done.stderr.strip() or done.stdout.strip()).splitlines()
        raise Transient(
            f"airflow {' '.join(arguments[:2])} ended with exit code {done.returncode}: "
            f"{said[-1] if said else 'it said nothing'}; has `airflow db migrate` been run?"
        )


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
