"""A reader of the documents that says which it uses, as nodes do."""

import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from uuid import uuid4

from shared.contracts.documents import Catalogue
from shared.contracts.heartbeats import NODES
from shared.kafka.config_topic import config_table
from shared.kafka.global_table import GlobalTable
from shared.kafka.heartbeat_writer import VALID_SECONDS, HeartbeatWriter
from shared.runtime.clock import wall_clock


class ConfigNode:
    """A node with a table of the documents; `held` keeps it from using more."""

    def __init__(
        self, bootstrap: str, instance: str, node: str = "transmit", valid_seconds: float = VALID_SECONDS
    ) -> None:
        """It is forgotten when it has said nothing for `valid_seconds`."""
        self.beats = HeartbeatWriter(
            bootstrap,
            node=node,
            instance=instance,
            clock=wall_clock,
            monotonic=time.monotonic,
            valid_seconds=valid_seconds,
        )
        self.held: int | None = None
        self.table: GlobalTable[Catalogue] = config_table(bootstrap, instance, used=self._used)
        assert self.table.wait(120)

    def _used(self, position: int) -> None:
        self.beats.beat(position if self.held is None else self.held)

    def stop(self) -> None:
        """End it in good order."""
        self.table.stop()
        self.beats.close()


@contextmanager
def every_node(bootstrap: str) -> Iterator[None]:
    """One node of each kind until the block ends: new sources are opened at once, as on a side that runs."""
    with ExitStack() as ending, ThreadPoolExecutor(len(NODES)) as pool:
        for node in pool.map(lambda name: ConfigNode(bootstrap, uuid4().hex, name), NODES):
            ending.callback(node.stop)
        yield
