"""Write keys that the server makes; a source's document holds their digests."""

import secrets
from collections.abc import Sequence
from typing import Final

from msgspec.structs import replace

from shared.contracts.documents import Source, key_digest, key_id

_BYTES: Final = 32


def new_key() -> str:
    """A key of 256 random bits."""
    return "wk_" + secrets.token_urlsafe(_BYTES)


def with_key(source: Source, key: str) -> Source:
    """The source with one more key."""
    return replace(source, write_keys=[*source.write_keys, key_digest(key)])


def without_key(source: Source, wanted: str) -> Source:
    """The source without a key; the same if it has none of that id."""
    left: Sequence[str] = [each for each in source.write_keys if key_id(each) != wanted]
    return source if len(left) == len(source.write_keys) else replace(source, write_keys=list(left))
