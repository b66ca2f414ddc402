"""The far side of a connector: a destination of its kind that behaves as a test says."""

import socket
import threading
from abc import ABC, abstractmethod
from collections.abc import Mapping
from typing import Any, ClassVar

from tests.harness.waiting import free_port


class Far(ABC):
    """Accepts everything by default. Listens on loopback; each test has its own.

    If a kind of destination cannot do something, its class names that in `cannot`, with the reason; tests
    that need it are skipped with that reason. Everything else is required of every connector.
    """

    connector: ClassVar[str]
    """The connector's name, as documents give it."""

    cannot: ClassVar[Mapping[str, str]] = {}
    """Methods of this class that this kind of destination cannot do, with the reason."""

    per_event: ClassVar[bool] = False
    """Whether it answers for each event; otherwise one answer is for all events of a request."""

    alone: ClassVar[bool] = False
    """Whether each event is sent in its own request."""

    overwrites: ClassVar[bool] = False
    """Whether an event that is sent twice is stored once."""

    largest: ClassVar[int | None] = None
    """Bytes of data from which an event is refused as too large; None accepts every event of hifi."""

    secrets: ClassVar[Mapping[str, str]] = {}
    """Secrets to which `options` refer, by reference."""

    @abstractmethod
    def options(self, port: int | None = None) -> dict[str, Any]:
        """Options as in a document, with references to all `secrets`; `port` is that of another server."""

    @abstractmethod
    def received(self) -> list[str]:
        """Ids of the stored events in any order, an id once per copy."""

    @abstractmethod
    def refuse(self, ids: set[str]) -> None:
        """Refuse these events for good from now on."""

    @abstractmethod
    def fail_once(self, ids: set[str]) -> None:
        """Fail these events once; they may be sent again."""

    @abstractmethod
    def throttle(self) -> None:
        """Throttle every request from now on."""

    @abstractmethod
    def lose_answer_once(self) -> None:
        """Accept the next request, and cut its connection before the response."""

    @abstractmethod
    def requests(self) -> int:
        """Number of requests with events so far."""

    @abstractmethod
    def close(self) -> None:
        """Close servers and connections."""


class Silent:
    """A server that accepts connections and never answers."""

    def __init__(self) -> None:
        self._socket = socket.create_server(("127.0.0.1", 0))
        self.port = int(self._socket.getsockname()[1])
        self._taken: list[socket.socket] = []
        self._thread = threading.Thread(target=self._take, daemon=True)
        self._thread.start()

    @property
    def connections(self) -> int:
        """Number of accepted connections."""
        return len(self._taken)

    def _take(self) -> None:
        while True:
            try:
                connection, _ = self._socket.accept()
            except OSError:
                return
            self._taken.append(connection)

    def close(self) -> None:
        """Close it, and all its connections."""
        self._socket.shutdown(socket.SHUT_RDWR)
        self._socket.close()
        self._thread.join()
        for connection in self._taken:
            connection.close()


def nobody() -> int:
    """A port without a listener."""
    return free_port()
