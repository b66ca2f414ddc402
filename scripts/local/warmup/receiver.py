"""The warm-up's destination, in the sending process: counts events and their lags."""

import time
from collections import deque

import msgspec
from aiohttp import web

_WINDOW_SECONDS = 5.0


class _Event(msgspec.Struct):
    """The id of an event: `<time sent, epoch ms>-<number>`."""

    id: str


_decoder = msgspec.json.Decoder(list[_Event])


class WarmUpReceiver:
    """An HTTP destination that keeps the lags of the last five seconds."""

    def __init__(self) -> None:
        self.ids: set[str] = set()
        self.last_lag_ms = 0
        """Lag of the event that arrived last."""

        self._lags: deque[tuple[float, int]] = deque()

    def application(self) -> web.Application:
        """The aiohttp application."""
        application = web.Application(client_max_size=16 * 1024 * 1024)
        application.router.add_post("/{path:.*}", self._take)
        return application

    async def _take(self, request: web.Request) -> web.Response:
        body = await request.read()
        now, now_ms = time.monotonic(), time.time_ns() // 1_000_000
        for arrival in _decoder.decode(body if body.startswith(b"[") else b"[" + body + b"]"):
            self.ids.add(arrival.id)
            self.last_lag_ms = now_ms - int(arrival.id.partition("-")[0])
            self._lags.append((now, self.last_lag_ms))
        return web.Response(status=204)

    def window(self) -> list[int]:
        """Lags of events that arrived within the last five seconds; ms."""
        since = time.monotonic() - _WINDOW_SECONDS
        while self._lags and self._lags[0][0] < since:
            self._lags.popleft()
        return [lag for _, lag in self._lags]
