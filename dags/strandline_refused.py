"""Shows source files that are not right as this file's import error, and so disturbs no other.

Airflow takes all DAGs of a file with an import error out of service; hence a file without DAGs.
"""

from strandline_airflow.dag import load
from strandline_airflow.folder import folder_of_sources

from strandline.errors import SpecError

if refused := load(folder_of_sources()).refused:
    raise SpecError("\n".join(refused))
