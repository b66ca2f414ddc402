"""The API on a thread of its own, beside the loop that measures."""

import socket
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

from fastapi import FastAPI

from shared.runtime.uvicorn_config import served_beside, server_config

_DRAIN_SECONDS: Final = 1
_KEEP_ALIVE_SECONDS: Final = 30


@contextmanager
def served(app: FastAPI, host: str, port: int) -> Iterator[int]:
    """Serve until the block ends; gives the port.

    Raises:
        OSError: if the port is taken.
    """
    with socket.create_server((host, port), backlog=128, reuse_port=False) as listening:
        config = server_config(
            app,
            ws="none",
            lifespan="off",
            timeout_keep_alive=_KEEP_ALIVE_SECONDS,
            drain_seconds=_DRAIN_SECONDS,
        )
        with served_beside(config, listening) as found:
            yield found
