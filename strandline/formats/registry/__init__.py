"""Records that name their schema by the id that a registry gave it: framings, schemas, formats."""
