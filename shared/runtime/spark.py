"""The Spark session and the Kafka ends every Spark node shares, with the flags that were measured."""
