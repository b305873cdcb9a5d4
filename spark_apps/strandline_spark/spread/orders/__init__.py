"""What runs do to a large table besides compaction, each a module."""
