"""The far side of a connector: a destination of its kind, as well or badly behaved as a test wants it."""

import socket
import threading
from abc import ABC, abstractmethod
from collections.abc import Mapping
from typing import Any, ClassVar

from tests.harness.waiting import free_port


class Far(ABC):
    """Takes everything until told otherwise. Listens on loopback; one object a test.

    What a kind of destination cannot do, its class says in `cannot`, with the reason; the tests that need it
    are skipped with that reason. Everything else is required of every connector.
    """

    connector: ClassVar[str]
    """Name of the connector's file."""

    cannot: ClassVar[Mapping[str, str]] = {}
    """Names of this class's methods, and why this kind of destination never does that."""

    per_event: ClassVar[bool] = False
    """Answers for each event; otherwise one answer is for all events of a request."""

    alone: ClassVar[bool] = False
    """Each event travels in a request of its own."""

    overwrites: ClassVar[bool] = False
    """What is sent twice is there once."""

    largest: ClassVar[int | None] = None
    """Bytes of data from which on an event is refused as too large; None: takes whatever hifi carries."""

    patience: ClassVar[float] = 1.0
    """Seconds that a try needs, where nothing is wrong, on a busy machine."""

    secrets: ClassVar[Mapping[str, str]] = {}
    """What `options` refers to, by reference."""

    @abstractmethod
    def options(self, port: int | None = None) -> dict[str, Any]:
        """Options as a document has them, with all `secrets` in them; with a port, of a server there."""

    @abstractmethod
    def received(self) -> list[str]:
        """Ids of the events that are there, in any order; those that are there twice, twice."""

    @abstractmethod
    def refuse(self, ids: set[str]) -> None:
        """From now on these events are not taken, and never will be."""

    @abstractmethod
    def fail_once(self, ids: set[str]) -> None:
        """The next time these events come they are not taken, but may be sent again."""

    @abstractmethod
    def throttle(self) -> None:
        """From now on nothing is taken, because it is too much."""

    @abstractmethod
    def lose_answer_once(self) -> None:
        """The next request is taken, and its connection is cut before the answer."""

    @abstractmethod
    def requests(self) -> int:
        """How many requests with events came so far."""

    @abstractmethod
    def close(self) -> None:
        """End what it started."""


class Silent:
    """A server that takes connections and says nothing, for as long as it is there."""

    def __init__(self) -> None:
        self._socket = socket.create_server(("127.0.0.1", 0))
        self.port = int(self._socket.getsockname()[1])
        self._taken: list[socket.socket] = []
        self._thread = threading.Thread(target=self._take, daemon=True)
        self._thread.start()

    @property
    def connections(self) -> int:
        """How many came."""
        return len(self._taken)

    def _take(self) -> None:
        while True:
            try:
                connection, _ = self._socket.accept()
            except OSError:
                return
            self._taken.append(connection)

    def close(self) -> None:
        """End it, and all connections."""
        self._socket.shutdown(socket.SHUT_RDWR)
        self._socket.close()
        self._thread.join()
        for connection in self._taken:
            connection.close()


def nobody() -> int:
    """A port on which nobody listens."""
    return free_port()
