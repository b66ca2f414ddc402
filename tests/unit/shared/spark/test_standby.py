"""Two drivers on one folder of checkpoints, each in a thread, with the kernel's locks."""

import fcntl
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from types import SimpleNamespace
from typing import Any, Final

import pytest

from shared.runtime.settings import SparkSettings
from shared.spark.standby import TwoDrivers
from tests.harness.waiting import eventually

NODES: Final = ("route", "ingest", "transmit")
_PATIENCE_SECONDS: Final = 60.0


@dataclass
class _Channel:
    """A file as the JVM opens it; opened anew, it counts as another process's for the kernel."""

    path: str
    locked: Callable[[], None]
    file: Any = None

    def tryLock(self) -> "_Channel | None":  # noqa: N802 - Java's name
        self.file = Path(self.path).open("a+b")  # noqa: SIM115 - open as long as the lock is held
        try:
            fcntl.flock(self.file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            self.file.close()
            return None
        self.locked()
        return self

    def lock(self) -> "_Channel":
        self.file = Path(self.path).open("a+b")  # noqa: SIM115
        fcntl.flock(self.file, fcntl.LOCK_EX)
        return self

    def close(self) -> None:
        self.file.close()


class _Rehearsal:
    def run(self, spark: Any, ended: Callable[[], bool]) -> None:
        """Takes no time."""


@dataclass
class _Driver:
    """One driver; its session has nothing of Spark but the JVM's files and clock."""

    checkpoints: Path
    name: str
    locked: Callable[[], None] = lambda: None
    active: bool = True
    stopping: threading.Event = field(default_factory=threading.Event)
    returned: threading.Event = field(default_factory=threading.Event)
    started: list[str] = field(default_factory=list)

    def run(self) -> None:
        """Start, and run the nodes until it is to stop."""
        warm_file = self.checkpoints / f"{self.name}.warm"
        settings = SparkSettings.model_construct(checkpoints=str(self.checkpoints))
        drivers = TwoDrivers(
            {node: self._build(node) for node in NODES},
            settings,
            _Rehearsal(),
            prepares={},
            later=(),
            warm_file=warm_file,
            hurry=lambda: None,
        )
        try:
            drivers.start(self._spark(), self.stopping)
            self.returned.set()
            self.stopping.wait()
        finally:
            drivers.stop([])

    def _build(self, node: str) -> Any:
        def build(_spark: Any, _settings: SparkSettings) -> Any:
            self.started.append(node)
            return SimpleNamespace(isActive=self.active, status={"message": "Processing"})

        return build

    def _spark(self) -> Any:
        def opened(path: str, _mode: str) -> Any:
            return SimpleNamespace(getChannel=lambda: _Channel(path, self.locked))

        java = SimpleNamespace(
            io=SimpleNamespace(RandomAccessFile=opened),
            lang=SimpleNamespace(System=SimpleNamespace(nanoTime=time.monotonic_ns)),
        )
        return SimpleNamespace(sparkContext=SimpleNamespace(_jvm=SimpleNamespace(java=java)))


@contextmanager
def running(*drivers: _Driver) -> Iterator[None]:
    threads = [threading.Thread(target=driver.run, daemon=True) for driver in drivers]
    for thread in threads:
        thread.start()
    try:
        yield
    finally:
        for driver in drivers:
            driver.stopping.set()
        for thread in threads:
            thread.join(_PATIENCE_SECONDS)


@pytest.mark.parametrize("seconds", [0.4, pytest.param(1.0, marks=pytest.mark.proof)])
def test_of_two_drivers_that_start_together_one_gets_every_node_and_the_other_none(
    tmp_path: Path, seconds: float
) -> None:
    """Each waits so many seconds for the other between its first node and its second.

    The other comes within milliseconds if it is to come at all.
    """
    between = threading.Barrier(2)

    def meet() -> None:
        with suppress(threading.BrokenBarrierError):
            between.wait(seconds)

    first, second = (_Driver(tmp_path, name, meet) for name in ("first", "second"))
    with running(first, second):
        eventually(lambda: len(first.started) + len(second.started) == len(NODES))
        assert {*map(len, (first.started, second.started))} == {0, len(NODES)}


def test_a_query_that_ends_while_a_node_is_missing_ends_the_wait(tmp_path: Path) -> None:
    """The caller then sees that it has ended."""
    folder = tmp_path / ".drivers"
    folder.mkdir()
    with (folder / "ingest.lock").open("a+b") as held:
        fcntl.flock(held, fcntl.LOCK_EX)
        driver = _Driver(tmp_path, "first", active=False)
        with running(driver):
            assert driver.returned.wait(_PATIENCE_SECONDS)
        assert driver.started == ["route"]
