"""A side that is already running, with the bench's documents published for a while."""

import time
from collections.abc import Iterator
from contextlib import contextmanager

import psutil

from scripts.experiments.harness.documents import documents
from scripts.experiments.harness.side import RunningChain
from scripts.experiments.harness.subprocesses import ChainError
from scripts.local.client.documents import documents_of
from scripts.local.process_marks import side_processes
from scripts.local.side import Side

_SUPERVISOR = "supervisor"
_LIVE_SECONDS = 12.0


@contextmanager
def attached(side: Side, destination: str) -> Iterator[RunningChain]:
    """The side as a chain; the bench's documents are deleted at the end.

    Raises:
        ChainError: if no side runs there.
        DocumentsError, KafkaUnavailableError: if the documents cannot be written or are not published.
    """
    roots = [process.pid for process in side_processes(side.root, _SUPERVISOR)]
    if not roots:
        raise ChainError(f"no side is running in {side.root}")
    written = documents(destination)
    documents_of(side).put(written)
    try:
        time.sleep(_LIVE_SECONDS)  # a new configuration is live within ten seconds
        yield RunningChain(
            name="hifi",
            side=side,
            roots=roots,
            ready_seconds=0.0,
            check=lambda: _check(roots),
        )
    finally:
        documents_of(side).remove(written)


def _check(roots: list[int]) -> None:
    if not all(psutil.pid_exists(pid) for pid in roots):
        raise ChainError("the side has ended")
