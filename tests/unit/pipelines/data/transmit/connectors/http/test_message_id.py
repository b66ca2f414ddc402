"""Receivers that follow Standard Webhooks accept hifi's signatures, also during a change of keys."""

import base64
import hashlib
import hmac

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pipelines.data.transmit.connectors.webhook import message_id
from shared.contracts.signing import key_of, signed
from tests.unit.pipelines.data.transmit.transmit_events import event

# The test vector of Standard Webhooks' reference implementations.
SECRET = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"
MESSAGE = "msg_p5jXN8AQM9LWM0D4loKWxJek"
SECONDS = 1614265330
BODY = b'{"test": 2432232314}'
SIGNATURE = "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE="

KEYS = st.binary(min_size=24, max_size=64)


def verified(key: bytes, headers: dict[str, str], body: bytes) -> bool:
    """Verify as a receiver does."""
    text = f"{headers['webhook-id']}.{headers['webhook-timestamp']}.".encode() + body
    mine = base64.b64encode(hmac.new(key, text, hashlib.sha256).digest()).decode()
    return any(part == f"v1,{mine}" for part in headers["webhook-signature"].split(" "))


@pytest.mark.parametrize("secret", [SECRET, SECRET.removeprefix("whsec_"), SECRET + "\n"])
def test_the_published_vector_comes_out(secret: str) -> None:
    assert signed([key_of(secret)], MESSAGE, SECONDS, BODY) == {
        "webhook-id": MESSAGE,
        "webhook-timestamp": str(SECONDS),
        "webhook-signature": SIGNATURE,
    }


@given(st.lists(KEYS, min_size=1, max_size=8, unique=True), KEYS, st.binary())
def test_each_of_the_keys_verifies_and_no_other(keys: list[bytes], other: bytes, body: bytes) -> None:
    headers = signed(keys, "msg_1", SECONDS, body)
    assert all(verified(key, headers, body) for key in keys)
    assert not verified(keys[0], headers, body + b" ")
    assert not verified(keys[0], headers | {"webhook-timestamp": "1614265331"}, body)
    assert other in keys or not verified(other, headers, body)


@given(KEYS)
def test_a_key_is_what_its_text_encodes(key: bytes) -> None:
    assert key_of("whsec_" + base64.b64encode(key).decode()) == key


@pytest.mark.parametrize("secret", ["", "whsec_", "whsec_short", "password", "whsec_" + "A" * 88, "é" * 40])
def test_an_invalid_key_is_refused_and_not_shown(secret: str) -> None:
    with pytest.raises(ValueError, match="is not a signing key; make one") as caught:
        key_of(secret)
    assert secret in ("", "whsec_") or secret not in str(caught.value)


def test_the_same_events_are_the_same_message_and_others_are_not() -> None:
    one, two = event(1), event(2)
    assert message_id([one, two]) == message_id([event(1, attempt=3), event(2, attempt=3)])
    assert len({message_id(events) for events in ([one], [two], [one, two], [two, one])}) == 4
    assert message_id([one]).isascii()
    assert "." not in message_id([one])
