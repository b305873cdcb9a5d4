"""How bytes become documents: Connect's JSON, flattened rows, schema changes, notifications."""
