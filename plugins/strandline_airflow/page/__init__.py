"""The page in Airflow: how sources stand, and what lies in their lakes."""
