"""Stops a query so that it goes on where it was: what of its progress is not written yet is written then."""

from typing import Any, Final

from pyspark.sql.streaming.query import StreamingQuery

from shared.runtime.logging import get_logger

_log = get_logger(__name__)

_ASYNCHRONOUS: Final = "AsyncProgressTrackingMicroBatchExecution"
"""Spark's class of the queries of `microbatch_writer`. Any other has written its progress."""


def stop_with_progress(query: StreamingQuery) -> None:
    """Stop a query; without its progress the next start would process its last finished batches again.

    That of a query which has ended by itself is left as it is, as after a crash: it may have ended because
    another process writes the same checkpoint.
    """
    planned = query.isActive
    query.stop()
    if planned:
        try:
            _write_progress(query)
        except Exception:  # batches are repeated, as after a crash; the others are still to be stopped
            fields = {"query": query.name}
            _log.warning(
                "progress not written: batches of the last second are repeated", exc_info=True, extra=fields
            )


def _write_progress(query: StreamingQuery) -> None:
    """Note the last finished batch in both of Spark's logs, in its order, unless it is there.

    The query's own logs have it in memory, and so refuse to write it; those of the checkpoint do not.
    """
    java: Any = query._jsq
    execution = java.streamingQuery()
    if execution.getClass().getSimpleName() != _ASYNCHRONOUS:
        return
    finished, files = execution.commitLog().getLatestBatchId(), execution.checkpointMetadata()
    if finished.isEmpty() or finished.equals(files.commitLog().getLatestBatchId()):
        return
    batch = finished.get()
    files.offsetLog().add(batch, execution.offsetLog().get(batch).get())
    files.commitLog().add(batch, execution.commitLog().get(batch).get())
