"""What people order for tables that go alone, a module for each kind of order.

A history is what the law makes of the records on record, so most of an order is to say which
records these are.
"""
