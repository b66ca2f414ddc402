"""A Spark application with the twins' settings: `python -m tests.spark.twin_query BROKER CERTIFICATE`.

It copies topic `in` to topic `out` once, through a Python worker, and adds to each record the zone that the
worker's process knows.
"""

import json
import sys
from collections.abc import Iterator

import pyarrow as pa

from shared.runtime.kafka_config import Placement, spark_options, spark_source_options
from shared.runtime.settings import SparkSettings
from shared.spark.session import spark_session

# A real MSK host name, as the region is taken from it. Its address is replaced below.
_MSK = "iam://b-1.hifi.a1b2c3.c2.kafka.eu-west-1.amazonaws.com:9098"


def with_zone(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Append the zone of the worker's node to each value."""
    zone = Placement().client_rack.encode()
    for batch in batches:
        values = [value.as_py() + b"@" + zone for value in batch.column("value")]
        yield pa.RecordBatch.from_pydict({"value": pa.array(values, pa.binary())})


def main(broker: str, certificate: str) -> None:
    """Copy the topic, and print the settings as the driver's JVM sees them."""
    settings = SparkSettings()  # type: ignore[call-arg]  # from the environment
    spark = spark_session(settings, "twin")
    here = {
        "kafka.bootstrap.servers": broker,
        "kafka.ssl.truststore.type": "PEM",
        "kafka.ssl.truststore.location": certificate,
    }
    rows = (
        spark.readStream.format("kafka")
        .options(**spark_source_options(_MSK) | here)
        .option("subscribe", "in")
        .option("startingOffsets", "earliest")
        .load()
    )
    query = (
        rows.select("value")
        .mapInArrow(with_zone, "value binary")
        .writeStream.format("kafka")
        .options(**spark_options(_MSK) | here)
        .option("topic", "out")
        .option("checkpointLocation", f"{settings.checkpoints}/twin")
        .trigger(availableNow=True)
        .start()
    )
    query.awaitTermination()
    jvm = spark.sparkContext._jvm
    assert jvm is not None
    given = jvm.java.util.Properties()
    for name, value in spark_source_options(_MSK).items():
        given.setProperty(name.removeprefix("kafka."), value)
    for name in ("key", "value"):
        deserializer = "org.apache.kafka.common.serialization.ByteArrayDeserializer"
        given.setProperty(f"{name}.deserializer", deserializer)
    consumer = jvm.org.apache.kafka.clients.consumer.ConsumerConfig(given)
    found = {
        "rack": consumer.getString("client.rack"),
        "authenticate": spark.conf.get("spark.authenticate"),
        "manager": spark.conf.get("spark.sql.streaming.checkpointFileManagerClass"),
        "region": spark.sparkContext._jsc.hadoopConfiguration().get("fs.s3a.endpoint.region"),
    }
    spark.stop()
    sys.stdout.write(f"\n{json.dumps(found)}\n")


if __name__ == "__main__":
    main(*sys.argv[1:])
