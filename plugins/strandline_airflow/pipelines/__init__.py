"""What the DAGs of a source are made of."""
