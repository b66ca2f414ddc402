"""Heads of requests before the parser sees them."""

import pytest

from shared.runtime.upgrade_offers import KEPT_BYTES, without_upgrade

HEAD = b"POST / HTTP/1.1\r\nhost: x\r\nupgrade: h2c\r\na: b\r\n\r\n"
HARMLESS = HEAD.replace(b"upgrade", b"upgrade-ignored")
BODY = b"x\r\nupgrade: h2c\r\n"


@pytest.mark.parametrize("name", [b"Upgrade", b"upgrade", b"UPGRADE", b"UpGrade", b"uPGRADE"])
def test_an_upgrade_header_is_made_harmless(name: bytes) -> None:
    found = without_upgrade(HEAD.replace(b"upgrade", name) + BODY)
    assert found == HARMLESS.replace(b"upgrade", name) + BODY


@pytest.mark.parametrize("at", range(1, len(HEAD)))
def test_an_upgrade_offer_split_over_two_reads_is_removed(at: int) -> None:
    first, second = HEAD[:at], HEAD[at:] + BODY
    found = without_upgrade(first) + without_upgrade(second, before=first[-KEPT_BYTES:])
    assert found == HARMLESS + BODY


def test_a_body_that_begins_a_part_is_no_head() -> None:
    assert without_upgrade(BODY, before=HEAD[-KEPT_BYTES:]) == BODY
    assert without_upgrade(b"\n" + BODY, before=HEAD[-1 - KEPT_BYTES : -1]) == b"\n" + BODY


@pytest.mark.parametrize(
    "head",
    [
        b"POST / HTTP/1.1\r\n\r\n" + BODY,
        b"GET / HTTP/1.1\r\nupgrade-insecure-requests: 1\r\n\r\n",
        b"GET /?upgrade:x HTTP/1.1\r\nx: upgrade: y\r\n\r\n",
    ],
)
def test_everything_else_is_left_as_it_is(head: bytes) -> None:
    assert without_upgrade(head) == head


@pytest.mark.parametrize("protocol", [b"websocket", b" WebSocket", b"\twebsocket", b""])
def test_a_server_of_websockets_is_offered_them(protocol: bytes) -> None:
    head = b"GET / HTTP/1.1\r\nupgrade:" + protocol
    assert without_upgrade(head, websockets=True) == head
    assert without_upgrade(head) != head
    assert without_upgrade(HEAD, websockets=True) == HARMLESS
