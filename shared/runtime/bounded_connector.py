"""Bounds the idle connections of an aiohttp session, which aiohttp itself does not: its `limit` counts those
in use.

Only aiohttp's public methods are used: `connect`, and a connection's callback, which comes just before it is
kept or closed.
"""

from functools import partial
from typing import Any

import aiohttp
from aiohttp.client_proto import ResponseHandler
from aiohttp.connector import Connection
from aiohttp.tracing import Trace


class BoundedConnector(aiohttp.TCPConnector):
    """Closes the connections that have been idle longest when there are too many."""

    def __init__(self, idle: int, **how: Any) -> None:
        """`idle`: most idle connections, over all hosts; `how` is for aiohttp."""
        super().__init__(**how)
        self._most_idle = idle
        self._idle: dict[ResponseHandler, None] = {}
        """The longest idle first. Some may have been closed since, by aiohttp or by the other side."""

    async def connect(
        self,
        req: aiohttp.ClientRequest,
        traces: list[Trace],
        timeout: aiohttp.ClientTimeout,  # noqa: ASYNC109 aiohttp's signature
    ) -> Connection:
        """An idle connection, or a new one."""
        connection = await super().connect(req, traces, timeout)
        if (protocol := connection.protocol) is not None:
            self._idle.pop(protocol, None)
            connection.add_callback(partial(self._released, protocol))
        return connection

    def _released(self, protocol: ResponseHandler) -> None:
        self._idle[protocol] = None
        if len(self._idle) > self._most_idle:
            self._close_some()

    def _close_some(self) -> None:
        """Close a tenth more than needed: this looks through all of them, so it should be rare."""
        connected = [each for each in self._idle if each.is_connected()]
        too_many = len(connected) > self._most_idle
        surplus = len(connected) - self._most_idle * 9 // 10 if too_many else 0
        for each in connected[:surplus]:
            each.abort()  # TLS would wait for the other side's farewell
        self._idle = dict.fromkeys(connected[surplus:])
