"""What somebody looks up in the lake of a source: keys, changes, quarantined records, one record.

Each takes a few queries that read narrow columns first: a page of a million records does not read
their bytes, and no table is read into memory.
"""
