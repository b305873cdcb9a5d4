"""Every source file becomes its DAGs; see `strandline_airflow.dag` and `dags/sources/*.toml`."""

from strandline_airflow.dag import load, watch_dag
from strandline_airflow.folder import folder_of_sources

loaded = load(folder_of_sources())
if loaded.sources or loaded.refused:
    watch = watch_dag(loaded.sources, loaded.refused)
    globals().update({dag.dag_id: dag for dag in (*loaded.dags, watch)})
