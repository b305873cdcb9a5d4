"""Publications in a Hive metastore, where SQL engines find histories by name: `[catalog]`."""
