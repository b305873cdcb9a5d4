"""From Kafka into the landing table."""
