"""The measured program: `python -m scripts.experiments.checkpoints.query SETTINGS CHECKPOINTS BATCHES MARK`.

A query of one row a batch, with the twins' session, changed by SETTINGS (JSON), and its checkpoint on S3. It
prints the seconds of each batch as JSON on its last line. Before the first measured batch it creates MARK.
"""

import sys
import time
from pathlib import Path
from typing import Any, Final

import msgspec

from shared.runtime.settings import SparkSettings
from shared.spark.session import spark_session

_WARM_BATCHES: Final = 12
"""More than `minBatchesToRetain`: from then on each batch also deletes the files of an old one."""

_BOUNDARY: Final = ("walCommit", "commitOffsets")
_MOST_SECONDS: Final = 300.0


def main(changes: dict[str, str], checkpoints: str, batches: int, mark: Path) -> None:
    """Run the query and print its figures.

    Raises:
        RuntimeError: if the query ends.
        TimeoutError: if the batches take too long.
    """
    settings = SparkSettings(bootstrap="127.0.0.1:1", checkpoints=checkpoints, master="local[2]")  # type: ignore[call-arg]
    spark = spark_session(settings, "checkpoints")
    for name, value in changes.items():
        spark.conf.set(name, value)
    spark.conf.set("spark.sql.streaming.numRecentProgressUpdates", str(batches + _WARM_BATCHES))
    rows = spark.readStream.format("rate-micro-batch").option("rowsPerBatch", 1).load()
    query = rows.writeStream.format("noop").option("checkpointLocation", checkpoints).start()
    first = _wait(query, _WARM_BATCHES)
    mark.touch()
    began = time.monotonic()
    _wait(query, first + batches)
    seconds = time.monotonic() - began
    measured = [each for each in query.recentProgress if each["batchId"] > first]
    query.stop()
    figures = {
        "batches": len(measured),
        "batch_seconds": seconds / len(measured),
        "boundary_seconds": sorted(
            sum(each["durationMs"].get(part, 0) for part in _BOUNDARY) / 1_000 for each in measured
        ),
    }
    spark.stop()
    sys.stdout.write(f"\n{msgspec.json.encode(figures).decode()}\n")


def _wait(query: Any, batch: int) -> int:
    """Wait until a batch has ended; returns the last one that has."""
    deadline = time.monotonic() + _MOST_SECONDS
    while (progress := query.lastProgress) is None or progress["batchId"] < batch:
        if query.exception() is not None:
            raise RuntimeError(f"query ended: {query.exception()}")
        if time.monotonic() > deadline:
            raise TimeoutError(f"batch {batch} did not end within {_MOST_SECONDS:.0f} s")
        time.sleep(0.05)
    return int(progress["batchId"])


if __name__ == "__main__":
    main(msgspec.json.decode(sys.argv[1]), sys.argv[2], int(sys.argv[3]), Path(sys.argv[4]))
