"""Registers Strandline with Airflow. What it adds is in the package `strandline_airflow`."""

from airflow.plugins_manager import AirflowPlugin


class StrandlinePlugin(AirflowPlugin):
    """The name under which Airflow lists it."""

    name = "strandline"
