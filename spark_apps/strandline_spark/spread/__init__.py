"""The law, spread: one table over many tasks.

`table` is the pass. `arrival` is what has to be read, `reading` and `folding` what tasks do to it;
between them records lie in their store (`store`), and keys that name each other are one group
(`groups`). What was made takes the place of what stood (`replacement`). What tasks tell the driver
goes through `telling`.
"""
