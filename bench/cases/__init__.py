"""Cases: what a database did, the records that tell of it, and the history that is right."""
