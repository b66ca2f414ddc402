"""The cost to customers of adding, draining and killing Spark workers, beside plain Kafka consumer groups."""
