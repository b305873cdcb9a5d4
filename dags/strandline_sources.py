"""Every source file becomes its DAGs; see `strandline_airflow.dag` and `dags/sources/*.toml`."""

from strandline_airflow.dag import folder_of_sources, load

globals().update({dag.dag_id: dag for dag in load(folder_of_sources()).dags})
