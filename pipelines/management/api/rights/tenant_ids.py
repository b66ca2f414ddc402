"""Ids of tokens and invitations, which lead from a tenant to what is under a digest. Pure."""

import re
from typing import Final

_ID: Final = re.compile(r"[0-9a-f]{16}")


def is_id(text: str) -> bool:
    """Whether a token or an invitation may have this id; another text may be no valid sort key."""
    return _ID.fullmatch(text) is not None


def sort_key(tenant: str | None, item_id: str) -> str:
    """The sort key of an id; an empty id begins all of a tenant's, and None is the operators."""
    return f"{tenant or ''}/{item_id}"
