"""How hifi's HTTP servers are set up alike."""

from typing import Any

import uvicorn


def server_config(app: Any, *, drain_seconds: int, **own: Any) -> uvicorn.Config:
    """uvicorn for an ASGI application: it logs by our loggers, and tells nobody what it is.

    Args:
        app: the application.
        drain_seconds: that requests in flight get at a stop.
        own: further settings of this server, by uvicorn's names.
    """
    return uvicorn.Config(
        app,
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
