"""The Delta tables of a source, read and written by delta-rs, and the commits that a run makes."""
