"""Races of what Airflow's tasks do themselves: landing, and whole runs of a source."""
