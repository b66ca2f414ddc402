"""What adding, draining and killing Spark workers costs customers, beside plain Kafka consumer groups."""
