"""Says on the topic `heartbeats` which configuration this process uses."""

import os
import socket
from collections.abc import Callable
from functools import partial
from typing import Any, Final

from confluent_kafka import KafkaException, Producer

from shared.contracts.heartbeats import Heartbeat, encode
from shared.contracts.topics import Topic
from shared.kafka.producer import is_fatal, logging_client, producer_config
from shared.runtime.clock import Clock
from shared.runtime.process_metrics import build_version

EVERY_SECONDS: Final = 2.0
VALID_SECONDS: Final = 10.0
_CLOSE_SECONDS: Final = 1.0


def process_name() -> str:
    """Tells the processes of a node apart, on all machines."""
    return f"{socket.gethostname()}-{os.getpid()}"


class HeartbeatWriter:
    """Belongs to one thread. Never waits for brokers: what they do not take in time is dropped."""

    def __init__(  # noqa: PLR0913  # who says it, for how long, and the world
        self,
        bootstrap: str,
        *,
        node: str,
        instance: str,
        clock: Clock,
        monotonic: Callable[[], float],
        valid_seconds: float = VALID_SECONDS,
        make_client: Callable[[dict[str, Any]], Producer] = logging_client,
    ) -> None:
        """A heartbeat counts for `valid_seconds` unless it is repeated."""
        self._node, self._instance = node, instance
        self._clock, self._monotonic = clock, monotonic
        self._build = build_version()
        self._valid_ms = int(valid_seconds * 1_000)
        self._sent: int | None = None
        self._sent_at = 0.0
        # Quiet: without brokers this thread's table says so, once.
        config = producer_config(bootstrap, f"{node}-heartbeats") | {
            "delivery.timeout.ms": self._valid_ms,
            "queue.buffering.max.messages": 100,
            "log_level": 3,
            "log.connection.close": False,
        }
        self._make_client = partial(make_client, config)
        self._producer = self._make_client()

    def beat(self, config: int) -> None:
        """Say it if it has changed, or was not said for a while."""
        self._producer.poll(0)
        now = self._monotonic()
        if config != self._sent or now - self._sent_at >= EVERY_SECONDS:
            self._say(config, self._valid_ms)
            self._sent, self._sent_at = config, now

    def close(self) -> None:
        """Say that the process has ended."""
        self._say(self._sent or 0, 0)
        self._producer.flush(_CLOSE_SECONDS)

    def _say(self, config: int, valid_ms: int) -> None:
        beat = Heartbeat(
            node=self._node,
            instance=self._instance,
            build=self._build,
            config=config,
            at_ms=self._clock(),
            valid_ms=valid_ms,
        )
        try:
            self._producer.produce(Topic.HEARTBEATS, encode(beat), f"{self._node}/{self._instance}")
        except BufferError:  # the brokers are away: the next one will do
            return
        except KafkaException as error:
            if is_fatal(error):
                self._producer = self._make_client()
