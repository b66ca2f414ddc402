"""Locks by which a single driver writes a checkpoint: its JVM holds the lock until it releases it or is gone.

They are the kernel's file locks, so no clock can be wrong, and neither Kafka nor a table has to answer. A
killed driver's lock is free at once, a suspended one's is not. Both drivers must be on the same machine. A
JVM must not open a lock's file twice: closing either would release the lock.
"""

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final

import msgspec
from pyspark.sql import SparkSession

from shared.runtime.process_id import ProcessId
from shared.spark import driver_beat
from shared.spark.checkpoint_owners import FOLDER, owner, process_tree

_WAITING: Final = "standby"
_CHAIN: Final = "chain"


class CheckpointLocks:
    """The locks of a folder of checkpoints, one for each node, as one driver sees them."""

    def __init__(self, spark: SparkSession, checkpoints: Path) -> None:
        """Use the locks of this folder.

        Raises:
            OSError: if it cannot be written.
        """
        jvm: Any = spark.sparkContext._jvm
        self._io = jvm.java.io
        self._folder = checkpoints / FOLDER
        self._folder.mkdir(parents=True, exist_ok=True)
        tree = process_tree()
        self._own, self._name = msgspec.json.encode(tree), str(tree[0].pid)
        self._channels: dict[str, Any] = {}
        self._held: dict[str, Any] = {}
        self._opening = threading.Lock()

    def acquire(self, node: str) -> None:
        """Block, for ever if need be, until this driver alone may write the node's checkpoint."""
        self._keep(node, self._channel(node).lock())

    def try_acquire(self, node: str) -> bool:
        """Acquire a node unless another driver has it."""
        if node not in self._held:
            lock = self._channel(node).tryLock()
            if lock is None:
                return False
            self._keep(node, lock)
        return True

    @contextmanager
    def alone(self) -> Iterator[None]:
        """Wait until no other driver is within this: who tries for several nodes gets all of them or none."""
        lock = self._channel(_CHAIN).lock()
        try:
            yield
        finally:
            lock.close()

    def release(self, node: str) -> None:
        """Let another driver have the node, after the query that writes its checkpoint has ended."""
        self._held.pop(node).close()

    def wait_openly(self) -> None:
        """Let the driver at work see that another one is warm."""
        self.try_acquire(_WAITING)

    def wait_no_more(self) -> None:
        """The contrary of `wait_openly`; nothing happens if this driver does not wait."""
        if _WAITING in self._held:
            self.release(_WAITING)

    def is_awaited(self) -> bool:
        """Whether another driver is warm and waits for the checkpoints."""
        if not self.try_acquire(_WAITING):
            return True
        self.release(_WAITING)
        return False

    def note_at_work(self, node: str) -> None:
        """Note that this driver's query of the node processes data."""
        self._file(node, "at-work").write_bytes(self._own)

    def is_at_work(self, node: str) -> bool:
        """Whether the driver that last noted so is another one."""
        try:
            return self._file(node, "at-work").read_bytes() not in {self._own, b""}
        except FileNotFoundError:
            return False

    def owner(self, node: str) -> tuple[ProcessId, ...]:
        """The processes of the driver that last acquired the node; the JVM and Spark's Python process."""
        try:
            return owner(self._file(node, "owner"))
        except (FileNotFoundError, msgspec.DecodeError):
            return ()

    def beat(self, number: int) -> None:
        """Show that this driver lives.

        Raises:
            OSError: if the file system refuses it.
        """
        driver_beat.beat(self._file(self._name, "beat"), number)

    def last_beat(self, node: str) -> str:
        """The last beat of the driver that acquired the node; the same as long as it shows no other."""
        owner = self.owner(node)
        if not owner:
            return ""
        return f"{owner[0].pid} {driver_beat.last_beat(self._file(str(owner[0].pid), 'beat'))}"

    def close(self) -> None:
        """Remove the beat. The locks are free when the JVM has ended."""
        self._file(self._name, "beat").unlink(missing_ok=True)

    def _keep(self, node: str, lock: object) -> None:
        self._held[node] = lock
        self._file(node, "owner").write_bytes(self._own)

    def _channel(self, node: str) -> Any:
        with self._opening:
            if node not in self._channels:
                path = str(self._file(node, "lock"))
                self._channels[node] = self._io.RandomAccessFile(path, "rw").getChannel()
            return self._channels[node]

    def _file(self, node: str, kind: str) -> Path:
        return self._folder / f"{node}.{kind}"
