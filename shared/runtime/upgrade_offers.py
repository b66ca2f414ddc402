"""Offers of another protocol in the head of a request (RFC 9110, section 7.8), which a server may ignore.

A client that offers HTTP/2 this way (Java's, by default) is content with an answer in HTTP/1.1, but the
parser would take the request's body for the other protocol.
"""

import re
from typing import Final

KEPT_BYTES: Final = len(b"\r\nupgrade")
"""Bytes kept of a head that goes on in the next read."""

_HEAD_END: Final = b"\r\n\r\n"
_ANY: Final = re.compile(rb"\r\nupgrade(?=:)", re.IGNORECASE)
_NO_WEBSOCKET: Final = re.compile(rb"\r\nupgrade(?=:(?![ \t]*(?:w|\Z)))", re.IGNORECASE)
"""Nor a protocol that is still to come."""


def without_upgrade(data: bytes, *, before: bytes = b"", websockets: bool = False) -> bytes:
    """Bytes of a request, with the Upgrade header in its head renamed; a second one stays.

    Args:
        data: bytes that begin a request or go on with its head; its body may follow.
        before: the last of the head's bytes that came before them, KEPT_BYTES at most.
        websockets: whether an offer of a websocket stays.
    """
    head = before + data
    end = head.find(_HEAD_END)  # a body behind it is long, and is no head
    found = (_NO_WEBSOCKET if websockets else _ANY).search(head, 0, len(head) if end < 0 else end)
    if found is None:
        return data
    return head[len(before) : found.end()] + b"-ignored" + head[found.end() :]
