"""`python -m pipelines.control.readability [FILE]`: whether this code reads what another version wrote.

The deployer runs it with the code of a version that is to be released, before any traffic. With FILE, a
recording, that is read; without, the last records of the side's own brokers. The answer, the last line of
standard output, is a `Reading` in JSON.
"""

import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import msgspec
from confluent_kafka import KafkaException
from pyspark.sql import SparkSession

from pipelines.control.readability.answer import BROKERS_SILENT, Reading
from pipelines.control.readability.reading import reading, reading_by_topic
from pipelines.control.readability.recording import last_by_topic, read
from pipelines.control.readability.settings import ReadabilitySettings
from shared.runtime.clock import wall_clock
from shared.spark.session import SESSION


def main(arguments: Sequence[str]) -> int:
    """Exit status of the process."""
    try:
        found = _of_recording(Path(arguments[0])) if arguments else _of_own_side()
    except (KafkaException, TimeoutError) as error:
        sys.stderr.write(f"the brokers do not answer: {error}\n")
        return BROKERS_SILENT
    sys.stdout.write(msgspec.json.encode(found).decode() + "\n")
    return 0


def _of_recording(file: Path) -> Reading:
    recorded = read(file)
    with _session() as spark:
        return reading(spark, recorded, wall_clock())


def _of_own_side() -> Reading:
    settings = ReadabilitySettings()  # type: ignore[call-arg]  # from the environment
    with last_by_topic(settings.bootstrap) as topics, _session() as spark:
        return reading_by_topic(spark, topics, settings.positions, wall_clock())


@contextmanager
def _session() -> Iterator[SparkSession]:
    """A session for one short job, with the flags of the nodes, whose functions it runs.

    Compiling its code well would take most of the check's CPU time.
    """
    small = {
        "spark.sql.shuffle.partitions": "1",
        "spark.driver.extraJavaOptions": "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC",
        # It needs a folder with a short name, and this job has no tasks that would be quicker.
        "spark.python.unix.domain.socket.enabled": "false",
    }
    builder = SparkSession.builder.master("local[1]").appName("readability")
    for name, value in (SESSION | small).items():
        builder = builder.config(name, value)
    spark = builder.getOrCreate()
    try:
        yield spark
    finally:
        spark.stop()


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
