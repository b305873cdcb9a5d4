"""A table's run in one process, without Spark: the law between two Delta tables.

`table` takes one table from landed records to the commit of its history, `orders` does what people
order, `work` either of them to all tables of a manifest, one after the other. `choice` says which
tables go this way, `takeover` goes on from those that did not. What is read and written is in
`stores`.
"""
