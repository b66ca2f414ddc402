"""Three brokers as child processes that tests and the bench kill and start one by one.

`python -m scripts.local.kafka.cluster --data DIR --port N` runs one until it is interrupted.
"""

import argparse
import os
import signal
import subprocess
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from types import TracebackType

from scripts.local.addresses import BROKER_IDS, DEFAULT_PORT
from scripts.local.jars import ensure_jars
from scripts.local.kafka import brokers
from scripts.local.process_marks import OF_SIDE
from scripts.local.side import DEFAULT_PARTITIONS, Side
from shared.contracts.topics import topic_specs
from shared.kafka.admin import ensure_topics, wait_for_brokers

_STOP_SECONDS = 30


class Cluster:
    """The brokers of a side without its other programs; a context manager that ends them."""

    def __init__(
        self, side: Side, jars: Path, flags: Sequence[str] = (), extra: Mapping[str, str] | None = None
    ) -> None:
        """`flags` of the brokers' JVMs are added to hifi's; `extra` are properties that override hifi's."""
        self.side = side
        self._jars = jars
        self._flags = flags
        self._extra = extra
        self._running: dict[int, subprocess.Popen[bytes]] = {}

    @property
    def bootstrap(self) -> str:
        """Bootstrap servers."""
        return self.side.bootstrap

    def __enter__(self) -> "Cluster":
        self.side.create()
        brokers.prepare(self.side, self._jars, extra=self._extra)
        try:
            for broker in BROKER_IDS:
                self.start(broker)
            wait_for_brokers(self.bootstrap)
        except BaseException:
            self.stop()
            raise
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()

    def pid(self, broker: int) -> int:
        """Process id of a running broker."""
        return self._running[broker].pid

    def start(self, broker: int) -> None:
        """Start broker 1, 2 or 3 unless it runs; returns at once."""
        if broker in self._running:
            return
        with (self.side.logs / f"broker-{broker}.log").open("ab") as log:
            self._running[broker] = subprocess.Popen(
                brokers.command(self.side, broker, self._jars, self._flags),
                env={**os.environ, OF_SIDE: str(self.side.root)},
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=subprocess.STDOUT,
                start_new_session=True,  # Ctrl-C reaches this process only, which stops them in order
            )

    def kill(self, broker: int) -> None:
        """SIGKILL a broker, and wait until it has ended."""
        process = self._running.pop(broker)
        process.kill()
        process.wait()

    def stop(self) -> None:
        """End all brokers: SIGTERM, then SIGKILL to those that take too long."""
        for process in self._running.values():
            process.terminate()
        for process in self._running.values():
            with suppress(subprocess.TimeoutExpired):
                process.wait(_STOP_SECONDS)
            process.kill()
            process.wait()
        self._running.clear()


def main() -> None:
    """Run three brokers with all topics until interrupted."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, required=True, help="folder of their data")
    parser.add_argument(
        "--port", type=int, default=DEFAULT_PORT, help="base of the ports: brokers at +1, +2, +3"
    )
    parser.add_argument("--partitions", type=int, default=DEFAULT_PARTITIONS, help="of each busy topic")
    options = parser.parse_args()
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    side = Side(root=options.data.resolve(), port=options.port, partitions=options.partitions)
    jars = ensure_jars(print)
    with suppress(KeyboardInterrupt), Cluster(side, jars.broker) as cluster:
        ensure_topics(cluster.bootstrap, topic_specs(side.partitions))
        print(f"ready: {cluster.bootstrap}", flush=True)
        signal.pause()


if __name__ == "__main__":
    main()
