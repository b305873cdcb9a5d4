"""Plain keys: those with nothing to find out about them, read and folded as columns."""
