"""What a record is, what a change of a row is, and where each stands in the source's log."""
