"""How work gets to Spark, and what is seen of it."""
