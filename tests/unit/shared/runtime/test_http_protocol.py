"""Heads of requests before the parser sees them."""

import pytest

from shared.runtime.http_protocol import without_upgrade


@pytest.mark.parametrize("name", ["Upgrade", "upgrade", "UPGRADE"])
def test_an_upgrade_header_is_made_harmless(name: str) -> None:
    head = f"POST / HTTP/1.1\r\nhost: x\r\n{name}: h2c\r\na: b\r\n\r\nbody"
    assert without_upgrade(head.encode()) == head.replace(name, "x-ignored-upgrade").encode()


@pytest.mark.parametrize(
    "head",
    [
        b"POST / HTTP/1.1\r\n\r\nx\r\nupgrade: h2c\r\n",
        b"GET / HTTP/1.1\r\nupgrade-insecure-requests: 1\r\n\r\n",
        b"GET /?upgrade:x HTTP/1.1\r\nx: upgrade: y\r\n\r\n",
    ],
)
def test_everything_else_is_left_as_it_is(head: bytes) -> None:
    assert without_upgrade(head) == head
