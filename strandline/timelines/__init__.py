"""Why the history of a key is what it is, told and drawn."""
