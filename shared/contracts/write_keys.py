"""Write keys as users state them, and as the management API lists them for its clients. Pure."""

import re
import unicodedata
from typing import Final

from msgspec import Struct

from shared.contracts.documents import SEALED_PREFIX

_DIGEST: Final = re.compile(rf"{SEALED_PREFIX}[0-9a-f]{{64}}")
_CONTROL: Final = frozenset({"Cc", "Cs", "Zl", "Zp"})
"""Unicode's categories of control characters, half characters and line breaks."""


def write_key_problem(key: str) -> str:
    """The reason why no request would be taken with a stated key, and the fix; empty if there is none.

    Collect takes the white space around a request's key for HTTP's, and no digest for a key.
    """
    if key != key.strip():
        return (
            "has white space around it, such as a line break, which no request sends; "
            "write the key on one line without it (in a YAML list `- key`, not `- |`)"
        )
    if any(unicodedata.category(each) in _CONTROL for each in key):
        return (
            "holds a line break or another control character; "
            "write one of printable characters, for example of `openssl rand -hex 24`"
        )
    if key.startswith(SEALED_PREFIX) and not _DIGEST.fullmatch(key):
        return (
            f"begins with {SEALED_PREFIX} and is not a digest; "
            "write the key itself, or its whole digest of 64 digits 0-9 and a-f"
        )
    return ""


class WriteKey(Struct, frozen=True, kw_only=True):
    """A key of a source; of one that a document brought, only the id is known."""

    id: str
    label: str = ""
    last_four: str = ""
    made_ms: int | None = None
    made_by: str = ""
    used_ms: int | None = None
    """When a request last came with it, epoch milliseconds; up to ten minutes too early."""
