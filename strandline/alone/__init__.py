"""A table's run in one process, without Spark: the law between two Delta tables.

`landing` reads what a manifest pins, `records` has what is on record of a table between runs,
`history` writes its versions, `control` and `quarantine` are those of the source. All are ordinary
Delta tables, read and written by delta-rs. `table` takes one table from landed records to the
commit of its history, `compaction` all tables of a manifest, one after the other.
"""
