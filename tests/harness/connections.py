"""Plain connections of tests to a server."""

import socket
from contextlib import suppress


def until_closed(connection: socket.socket) -> bytes:
    """All that comes until the server closes the connection, or resets it."""
    received = b""
    with suppress(ConnectionError):
        while piece := connection.recv(65_536):
            received += piece
    return received
