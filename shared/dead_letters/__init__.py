"""Dead letters: read from Kafka, filtered, counted and replayed."""
