"""Spark carries the law: small tables are handed out whole, a large one is spread over many tasks.

No rule of meaning is here. Spark selects, joins, groups and sorts rows, and commits what the law
(`strandline.law`) has made of them.
"""
