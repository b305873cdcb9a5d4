"""Creates the pools that the DAGs name: `python -m strandline_airflow.pools [FOLDER]`.

A task in a pool that does not exist waits for ever, so a deployment runs this once before its DAGs
start and again when a source was added; running it again changes nothing.
"""

import sys
from pathlib import Path

from airflow.models.pool import Pool

from strandline_airflow.dag import folder_of_sources, load
from strandline_airflow.pipeline import pool_name


def create(folder: Path) -> list[str]:
    """Creates the pools of all valid sources of the folder; returns their names."""
    names = [pool_name(source) for source in load(folder).sources]
    for pool in names:
        Pool.create_or_update_pool(
            pool,
            slots=1,
            description="One writer for the histories of a source",
            include_deferred=True,
        )
    return names


if __name__ == "__main__":
    found = create(Path(sys.argv[1]) if len(sys.argv) > 1 else folder_of_sources())
    sys.stdout.write("".join(f"pool {pool}\n" for pool in found))
