"""Signatures of webhooks, as the Standard Webhooks specification 1.0.0 has them (symmetric, `v1`). Pure.

A receiver recomputes the signature over the id, the time and the body, and accepts a request if any signature
matches. While a key is changed, both the old and the new one sign.
"""

import base64
import binascii
import hmac
from collections.abc import Iterable
from typing import Final

KEY_PREFIX: Final = "whsec_"
HEADERS: Final = ("webhook-id", "webhook-timestamp", "webhook-signature")
KEY_BYTES: Final = range(24, 65)


def key_of(secret: str) -> bytes:
    """The key in `whsec_<base64>`; the prefix may be missing.

    Raises:
        ValueError: if it is not a signing key. The text does not quote it.
    """
    try:
        key = base64.b64decode(secret.strip().removeprefix(KEY_PREFIX), validate=True)
    except (binascii.Error, ValueError):
        key = b""
    if len(key) not in KEY_BYTES:
        raise ValueError(
            f"is not a signing key; make one: {KEY_PREFIX} and the base64 of 24 to 64 random bytes"
        )
    return key


def signed(keys: Iterable[bytes], message: str, seconds: int, body: bytes) -> dict[str, str]:
    """The headers that sign a request.

    Args:
        keys: each signs; a receiver needs one of them.
        message: the id of what is sent, the same when it is sent again.
        seconds: now, since the epoch.
        body: exactly what is sent.
    """
    text = b"%b.%d.%b" % (message.encode(), seconds, body)
    signatures = [base64.b64encode(hmac.digest(key, text, "sha256")).decode() for key in keys]
    return dict(zip(HEADERS, (message, str(seconds), " ".join(f"v1,{s}" for s in signatures)), strict=True))
