"""The Spark session and Kafka sources and sinks of all Spark nodes, with measured settings."""

import os
import sys
import tempfile
from pathlib import Path
from typing import Any, Final

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.streaming.readwriter import DataStreamWriter

from shared.contracts.limits import MAX_RECORD_BYTES
from shared.contracts.topics import Topic
from shared.contracts.topology import MAIN_OUTPUTS
from shared.runtime.jvm import java, mapping, release
from shared.runtime.kafka_config import spark_options, spark_source_options
from shared.runtime.settings import SparkSettings
from shared.spark import worker_daemon

_OPTIMIZER: Final = "org.apache.spark.sql.catalyst.optimizer"

LOG_CONFIGURATION: Final = Path(__file__).with_name("log4j2.properties")
"""Log4j configuration of Spark's JVMs."""

PROCESS_PROPERTY: Final = "hifi.process"
"""The system property with the process name for their log lines."""

HARMFUL_RULE: Final = f"{_OPTIMIZER}.InferFiltersFromGenerate"
"""Before an explode, it adds a filter that computes the exploded expression again: with a parse in it, an
event at ingest cost 78 us instead of 22."""

IDLE_RULES: Final = (
    f"{_OPTIMIZER}.SimplifyConditionals",
    f"{_OPTIMIZER}.RemoveRedundantAliases",
    f"{_OPTIMIZER}.FoldablePropagation",
    f"{_OPTIMIZER}.OptimizeCsvJsonExprs",
    f"{_OPTIMIZER}.OptimizeOneRowRelationSubquery",
    "org.apache.spark.sql.execution.datasources.SchemaPruning",
    "org.apache.spark.sql.execution.datasources.PushVariantIntoScan",
)
"""Rules that change none of the nodes' plans. Without them optimizing route's takes a third less, which is
time that a real-time query stands still between two batches."""

SESSION: Final = {
    # A value that cannot be cast is null, not an exception: bad data must never stop a partition.
    "spark.sql.ansi.enabled": "false",
    "spark.sql.mapKeyDedupPolicy": "LAST_WIN",
    "spark.sql.variant.allowDuplicateKeys": "true",
    "spark.sql.session.timeZone": "UTC",
    "spark.sql.optimizer.excludedRules": ",".join((HARMFUL_RULE, *IDLE_RULES)),
    # A micro-batch is small: planning it adaptively or forking for a file costs more than it saves.
    "spark.sql.adaptive.enabled": "false",
    "spark.sql.shuffle.partitions": "2",
    "spark.sql.streaming.pollingDelay": "40ms",
    # Shorter than Spark's own least of five seconds: a batch's length is the delay of a new configuration.
    "spark.sql.streaming.realTimeMode.minBatchDuration": "1s",
    "spark.sql.streaming.minBatchesToRetain": "10",
    "spark.sql.streaming.numRecentProgressUpdates": "10",
    "spark.sql.ui.retainedExecutions": "5",
    # Spark formats each micro-batch's plan for its web UI, which is off; use the shortest form.
    "spark.sql.ui.explainMode": "simple",
    # Nor is read what Spark keeps of jobs that are done: of a thousand, two minutes of them, it lives so long
    # that it grows old.
    "spark.ui.retainedJobs": "10",
    "spark.ui.retainedStages": "10",
    "spark.ui.retainedTasks": "100",
    "spark.sql.execution.arrow.maxRecordsPerBatch": "2000",
    "spark.sql.execution.arrow.maxBytesPerBatch": "16m",
    # Otherwise each of a query's some hundred expressions also records the line of Python that made it: that
    # is half of the calls to the JVM by which route's query is built.
    "spark.python.sql.dataFrameDebugging.enabled": "false",
    "spark.python.worker.reuse": "true",
    "spark.python.daemon.module": worker_daemon.__name__,
    # Over TCP (Nagle's algorithm against delayed acknowledgements) each task with Python takes 40 ms longer.
    "spark.python.unix.domain.socket.enabled": "true",
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
    "spark.cleaner.periodicGC.interval": "10min",
}
"""The flags of every session that runs the nodes' functions."""

_S3: Final = "s3a://"
CHECKPOINTS_ON_DISK: Final = (
    "org.apache.spark.sql.execution.streaming.checkpointing.FileSystemBasedCheckpointFileManager"
)
CHECKPOINTS_ON_S3: Final = "org.apache.spark.internal.io.cloud.AbortableStreamBasedCheckpointFileManager"
"""Puts each file of a checkpoint in its place instead of renaming it, which on S3 is a copy and a deletion:
`python -m scripts.experiments.checkpoints` compares the two."""

_METADATA_CACHE: Final = "spark.sql.streaming.metadataCache.enabled"

_CHECKPOINTS_ON_S3: Final = {
    "spark.sql.streaming.checkpointFileManagerClass": CHECKPOINTS_ON_S3,
    # This manager only logs that a file could not be written. Without the cache each batch reads the offsets
    # of the one before it from S3, and the query ends if they are not there.
    _METADATA_CACHE: "false",
}

PROGRESS_MS: Final = 1_000
"""Progress that is written asynchronously is written so often at most: on S3 each time costs requests."""

_PRODUCER: Final = {
    "kafka.acks": "all",
    "kafka.enable.idempotence": "true",
    "kafka.compression.type": "lz4",
    "kafka.batch.size": str(128 * 1024),
    "kafka.max.request.size": str(2 * MAX_RECORD_BYTES),
    # A query must outlive an outage of the brokers; giving up would only repeat its batch.
    "kafka.delivery.timeout.ms": str(3_600_000),
    "kafka.request.timeout.ms": "10000",
    "kafka.reconnect.backoff.max.ms": "1000",
    "kafka.max.block.ms": str(3_600_000),
}

# No more of a partition at once than Kafka's own megabyte, which a larger record exceeds: what is fetched
# lives for long, so that eight megabytes of each partition brought a collection of the whole heap.
_CONSUMER: Final = {
    "includeHeaders": "true",
    "kafka.reconnect.backoff.max.ms": "1000",
    "kafka.default.api.timeout.ms": "600000",
}

REALTIME_FETCH_WAIT_MS: Final = 500
"""A real-time task holds one long poll, which ends with the first record: at 10 ms instead, an idle hop of
two partitions costs half a core in brokers and driver, and p95 rises from 25 to 83 ms at 1,000 records/s."""

MICROBATCH_FETCH_WAIT_MS: Final = 10
"""At the default of 500 ms a micro-batch waits up to 0.4 s for its first rows."""

SOCKET_FOLDER_LENGTH: Final = 60
"""Characters that Spark takes at most for `spark.python.unix.domain.socket.dir`."""

_FUNCTIONS: Final = "org.apache.spark.sql.functions"
_NAMED_BY_EXPRESSIONS: Final = ("PythonUtils", "PythonSQLUtils", "functions", _FUNCTIONS)
"""Classes of the JVM, as PySpark writes them."""

REALTIME_LINGER_MS: Final = 25
MICROBATCH_LINGER_MS: Final = 5


def spark_session(settings: SparkSettings, app: str) -> SparkSession:
    """The process's session, started with the connector's jars and the flags above.

    Executors on other machines have the jars by their own `spark.executor.extraClassPath`. The heap has its
    size from the start: each step by which it grows is a full collection.
    """
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)  # any other lacks what the workers import
    builder = SparkSession.builder.appName(app).master(settings.master)
    placed = _local() if settings.master.startswith("local") else {}
    for key, value in (SESSION | checkpoint_settings(settings.checkpoints) | placed).items():
        builder = builder.config(key, value)
    session = (
        # Not `spark.jars`: they are sent to each executor, and no archive can hold their classes.
        builder.config("spark.driver.extraClassPath", f"{settings.jars}/*")
        .config("spark.driver.memory", settings.driver_memory)
        .config("spark.driver.extraJavaOptions", _java_options(settings, app))
        .getOrCreate()
    )
    _keep_classes(session)
    if not settings.checkpoints.startswith(_S3):
        _write_no_checksums(session, settings.checkpoints)
    return session


def _keep_classes(session: SparkSession) -> None:
    """Look up once the classes that nearly every expression names. py4j makes the JVM search for them at each
    use, in several packages of some 300 jars, which took a third of the time to build a query."""
    for name in _NAMED_BY_EXPRESSIONS:
        setattr(session._jvm, name, getattr(session._jvm, name))


def _write_no_checksums(session: SparkSession, checkpoints: str) -> None:
    """Hadoop would write a file `.NAME.crc` beside each file of a checkpoint, and start `chmod` for both. It
    still reads old ones, and deletes that of a file that it writes again. The JVM has one object for the file
    system of all queries, which is changed here."""
    jvm: Any = session._jvm
    folder = jvm.org.apache.hadoop.fs.Path(checkpoints)
    folder.getFileSystem(session.sparkContext._jsc.hadoopConfiguration()).setWriteChecksum(False)


def _java_options(settings: SparkSettings, app: str) -> str:
    archive = settings.class_archive
    mapped = " ".join(f'"{flag}"' for flag in mapping(archive, release(java()))) if archive else ""
    return (
        f"{settings.java_options} -Xms{settings.driver_memory} {mapped} "
        f'"-Djava.io.tmpdir={tempfile.gettempdir()}" '
        f'"-Dlog4j2.configurationFile={LOG_CONFIGURATION}" "-D{PROCESS_PROPERTY}={app}"'
    )


def checkpoint_settings(checkpoints: str) -> dict[str, str]:
    """How a checkpoint's files are written there."""
    if checkpoints.startswith(_S3):
        return _CHECKPOINTS_ON_S3
    return {"spark.sql.streaming.checkpointFileManagerClass": CHECKPOINTS_ON_DISK}


def _local() -> dict[str, str]:
    """Settings if the executors run in the driver: nothing listens on the network."""
    return {
        "spark.driver.host": "127.0.0.1",
        "spark.driver.bindAddress": "127.0.0.1",
        # A cluster's configuration may ask for both: Spark would make a secret, and keep it in its JVM.
        "spark.authenticate": "false",
        "spark.network.crypto.enabled": "false",
        "spark.python.unix.domain.socket.dir": socket_folder(tempfile.gettempdir(), str(Path.cwd())),
    }


def socket_folder(temporary: str, current: str) -> str:
    """The shorter path (absolute or relative) to the temporary folder, for the sockets of Spark's workers.

    Raises:
        ValueError: if both are too long for a Unix socket: Spark adds a name to its path.
    """
    way = min(temporary, os.path.relpath(temporary, current), key=len)
    if len(way) > SOCKET_FOLDER_LENGTH:
        raise ValueError(
            f"TMPDIR: {temporary} has {len(temporary)} characters, and a folder for Unix sockets has at most "
            f"{SOCKET_FOLDER_LENGTH}: set TMPDIR to a shorter path"
        )
    return way


def read_topics(
    spark: SparkSession,
    settings: SparkSettings,
    *topics: Topic,
    starting: str,
    fetch_wait_ms: int = REALTIME_FETCH_WAIT_MS,
    most_records: int | None = None,
) -> DataFrame:
    """A stream of records: key, value, headers, topic, partition, offset, timestamp.

    `starting` comes from `shared.spark.starting_offsets`. `most_records` bounds a micro-batch; a real-time
    query takes no such bound.
    """
    bound = {} if most_records is None else {"maxOffsetsPerTrigger": str(most_records)}
    return (
        spark.readStream.format("kafka")
        .options(**spark_source_options(settings.bootstrap))
        .option("subscribe", ",".join(settings.rehearsal + topic for topic in topics))
        .option("startingOffsets", starting)
        .option("kafka.fetch.max.wait.ms", fetch_wait_ms)
        .options(**_CONSUMER, **bound)
        .load()
    )


def realtime_writer(rows: DataFrame, settings: SparkSettings, node: str, batch: str) -> DataStreamWriter:
    """A writer of a real-time query to Kafka. `rows` has topic, value, headers and perhaps key.

    `batch` is the length of its batches, as Spark writes it: "15 seconds".
    """
    writer = _kafka_writer(rows, settings, node).option("kafka.linger.ms", REALTIME_LINGER_MS)
    trigger = {"realTime": batch}  # a keyword that PySpark's type stubs lack
    return writer.outputMode("update").trigger(**trigger)


def microbatch_writer(
    rows: DataFrame, settings: SparkSettings, node: str, progress_ms: int = PROGRESS_MS
) -> DataStreamWriter:
    """A writer of a micro-batch query to Kafka; progress is written asynchronously to the batches.

    The session is then for queries with such progress only. Batches without written progress are repeated
    after a crash: those that end within `progress_ms` after the last written one, and so the last batch
    before a query is idle. 0 writes the progress of each batch. `stop_with_progress` writes the rest.
    """
    # Spark asserts it. A file of progress that S3 did not take costs a repeated batch here, and no event.
    rows.sparkSession.conf.set(_METADATA_CACHE, "true")
    return (
        _microbatch_writer(rows, settings, node)
        .option("asyncProgressTrackingEnabled", "true")
        .option("asyncProgressTrackingCheckpointIntervalMs", str(progress_ms))
    )


def repeatable_writer(rows: DataFrame, settings: SparkSettings, node: str, every: str) -> DataStreamWriter:
    """A writer for a query that must split its input in the same way when a batch is repeated.

    Progress is written before each batch; written asynchronously, a new process would form other batches.
    `every` is the time from batch to batch, as Spark writes it.
    """
    return _microbatch_writer(rows, settings, node).trigger(processingTime=every)


def _microbatch_writer(rows: DataFrame, settings: SparkSettings, node: str) -> DataStreamWriter:
    writer = _kafka_writer(rows, settings, node).option("kafka.linger.ms", MICROBATCH_LINGER_MS)
    return writer.outputMode("append")


def _kafka_writer(rows: DataFrame, settings: SparkSettings, node: str) -> DataStreamWriter:
    # The option overrides the rows' own topics; the plan, and so what was compiled, stays the same.
    whither = {"topic": f"{settings.rehearsal}{MAIN_OUTPUTS[node]}"} if settings.rehearsal else {}
    return (
        rows.writeStream.queryName(node)
        .format("kafka")
        .options(**whither)
        .options(**spark_options(settings.bootstrap))
        .option("checkpointLocation", f"{settings.checkpoints}/{node}")
        .option("includeHeaders", "true")
        .options(**_PRODUCER)
    )
