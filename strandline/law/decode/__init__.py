"""Decode: what a record is. `general` is the meaning, `typed` reads what is well-formed faster."""
