"""`python -m pipelines.control.readability [FILE]`: whether this code reads what another version wrote.

The deployer runs it with the code of a version that is to be released, before any traffic. With FILE, a
recording, that is read; without, the last records of the side's own brokers. The answer, the last line of
standard output, is a `Reading` in JSON.
"""

import sys
from collections.abc import Sequence
from pathlib import Path

import msgspec
from confluent_kafka import KafkaException
from pyspark.sql import SparkSession

from pipelines.control.readability.answer import BROKERS_SILENT
from pipelines.control.readability.reading import reading
from pipelines.control.readability.recording import Recording, last_records, read
from pipelines.control.readability.settings import ReadabilitySettings
from shared.runtime.clock import wall_clock


def main(arguments: Sequence[str]) -> int:
    """Exit status of the process."""
    try:
        recorded = read(Path(arguments[0])) if arguments else _recorded_here()
    except (KafkaException, TimeoutError) as error:
        sys.stderr.write(f"the brokers do not answer: {error}\n")
        return BROKERS_SILENT
    spark = _session()
    try:
        found = reading(spark, recorded, wall_clock())
    finally:
        spark.stop()
    sys.stdout.write(msgspec.json.encode(found).decode() + "\n")
    return 0


def _recorded_here() -> Recording:
    settings = ReadabilitySettings()  # type: ignore[call-arg]  # from the environment
    return Recording(records=last_records(settings.bootstrap), queries=settings.positions)


def _session() -> SparkSession:
    """A session for one short job: compiling its code well would take most of the check's CPU time."""
    small = {
        "spark.ui.enabled": "false",
        "spark.sql.shuffle.partitions": "1",
        "spark.driver.extraJavaOptions": "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC",
    }
    builder = SparkSession.builder.master("local[1]").appName("readability")
    for name, value in small.items():
        builder = builder.config(name, value)
    return builder.getOrCreate()


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
