"""Runs of a source: what is landed and cut, what a run is told, and what it gives back."""
