"""The common uvicorn settings of hifi's HTTP servers."""

import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Final

import uvicorn

from shared.runtime.http_protocol import bounded_protocol

HEAD_SECONDS: Final = 10.0
"""Time limit for a request's head, unless a server says otherwise."""

KEEP_ALIVE_SECONDS: Final = 5
"""How long an idle connection of a client is kept, unless a server says otherwise."""

PROXY_KEEP_ALIVE_SECONDS: Final = 330
"""How long an idle connection of a proxy is kept: longer than the proxy keeps it, 300 s on twins.

Otherwise a request would sometimes reach a connection that was just closed, and fail with 502.
"""


def keep_alive_seconds(public_url: str | None) -> int:
    """How long a server keeps idle connections.

    Args:
        public_url: where clients find it behind a proxy; None without one.
    """
    return KEEP_ALIVE_SECONDS if public_url is None else PROXY_KEEP_ALIVE_SECONDS


def server_config(
    app: Any, *, drain_seconds: int, head_seconds: float = HEAD_SECONDS, **own: Any
) -> uvicorn.Config:
    """uvicorn for an ASGI application: bounded heads, our own loggers, no server header.

    Args:
        app: the application.
        drain_seconds: that requests in flight get at a stop.
        head_seconds: in which a request's head must have come in.
        own: further settings of this server, by uvicorn's names.
    """
    return uvicorn.Config(
        app,
        http=bounded_protocol(head_seconds),
        access_log=False,
        log_config=None,
        server_header=False,
        proxy_headers=False,
        timeout_graceful_shutdown=drain_seconds,
        **own,
    )


async def serve_until_stopped(config: uvicorn.Config) -> bool:
    """Serve until SIGTERM or SIGINT; False if the port could not be taken."""
    server = uvicorn.Server(config)
    await server.serve()
    return server.started


@contextmanager
def served_beside(config: uvicorn.Config, listening: socket.socket) -> Iterator[int]:
    """Serve a socket on a thread of its own until the block ends; gives the port."""
    server = uvicorn.Server(config)
    thread = threading.Thread(target=server.run, args=([listening],), name="api", daemon=True)
    thread.start()
    try:
        yield int(listening.getsockname()[1])
    finally:
        server.should_exit = True
        thread.join()
