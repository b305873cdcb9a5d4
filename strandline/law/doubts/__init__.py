"""Doubts: what makes a table's history one that should not be trusted, and is said aloud."""
