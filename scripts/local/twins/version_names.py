"""Which names of a version mean the same commit for good: a release keeps one, and starts it again later."""

import re
from pathlib import Path
from typing import Final

from scripts.local.twins.versions import CHECKOUT, checkout_version, commit_of

_BY_ID: Final = re.compile(r"(?:.+-g)?([0-9a-f]{4,40})")
"""A commit's id, or as `git describe` writes it after a tag."""


def released_name(version: str, repository: Path = CHECKOUT) -> str:
    """The name under which a version is released: its commit, or what `checkout_version` says of a checkout.

    Raises:
        NoVersionError: if git knows none of this name.
    """
    return version if version == checkout_version(repository) else commit_of(version, repository)


def may_move(version: str, repository: Path = CHECKOUT) -> bool:
    """Whether a name may come to mean another commit, as that of a branch or a tag, or HEAD.

    Raises:
        NoVersionError: if git knows none of this name.
    """
    if version == checkout_version(repository):
        return False
    found = _BY_ID.fullmatch(version)
    return found is None or not commit_of(version, repository).startswith(found[1])
