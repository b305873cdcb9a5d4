"""Source files: what a user writes to get the histories of a database."""
