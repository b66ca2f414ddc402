"""Versions of hifi that a local side can run: this checkout as it is, or any commit of its repository.

A commit's files are put into a folder of their own. Its programs run there with this checkout's Python and
packages, by PYTHONPATH: a version that needs other packages cannot be tried so.
"""

import shutil
import subprocess
import tarfile
from collections.abc import Sequence
from dataclasses import replace
from io import BytesIO
from pathlib import Path
from typing import Final

from scripts.local.side import Code, Side
from shared.runtime.errors import OperatorError

CHECKOUT: Final = Path(__file__).parents[3]
_SHORT: Final = 12
_SECONDS: Final = 60


class NoVersionError(OperatorError):
    """A version does not exist, or its files cannot be had."""


def checkout_version(repository: Path = CHECKOUT) -> str:
    """Name of the checkout as it is now: its commit, with `-dirty` if files were changed since.

    A tag stands before the commit and never for it: it may be moved.
    """
    try:
        found = _git(repository, "describe", "--always", "--long", "--dirty", f"--abbrev={_SHORT}")
        return found.decode().strip()
    except NoVersionError:
        return "checkout"


def named(side: Side) -> Side:
    """The side; if it runs this checkout, with the name that the checkout has now."""
    if side.code is not None and side.code.source is not None:
        if side.code.source.is_dir():
            return side
        raise NoVersionError(
            f"{side.name} runs version {side.code.version}, and {side.code.source} is gone",
            f"remove {side.description}: it then runs this checkout",
        )
    return replace(side, code=Code(version=checkout_version()))


def code_of(version: str, folder: Path, repository: Path = CHECKOUT) -> Code:
    """The code of a version; a commit's files are put below `folder` once.

    Args:
        version: what `checkout_version` says, or any name that git has for a commit.
        folder: of all versions.
        repository: where the commits are.

    Raises:
        NoVersionError: if there is no such version.
    """
    if version == checkout_version(repository):
        return Code(version=version)
    commit = commit_of(version, repository)
    place = folder / commit[:_SHORT]
    if not place.is_dir():
        draft = place.with_suffix(".new")
        shutil.rmtree(draft, ignore_errors=True)
        with tarfile.open(fileobj=BytesIO(_git(repository, "archive", "--format=tar", commit))) as files:
            files.extraction_filter = getattr(tarfile, "data_filter", None)  # Python before 3.11.4 has none
            files.extractall(draft)  # noqa: S202 - an archive that git wrote just now
        draft.rename(place)
    return Code(version=version, source=place)


def kept_code(version: str, folder: Path, sides: Sequence[Side], repository: Path = CHECKOUT) -> Code:
    """The code of a version that may serve already: a side has its files though git may have lost the name.

    Args:
        version: as for `code_of`.
        folder: of all versions.
        sides: with the code that they were last given.
        repository: where the commits are.

    Raises:
        NoVersionError: if its files are nowhere any more, as of a checkout that was changed since.
    """
    try:
        return code_of(version, folder, repository)
    except NoVersionError as error:
        for code in (side.code for side in sides):
            if code is None or code.version != version or code.source is None:
                continue
            if code.source.is_dir():
                return code
        raise NoVersionError(
            f"neither git nor a side has the files of version {version!r}",
            "bring the checkout back to it, or start the sides again (`hifi up --twins`): they then run the "
            "checkout as it is",
        ) from error


def commit_of(version: str, repository: Path = CHECKOUT) -> str:
    """The commit of a version.

    Raises:
        NoVersionError: if git knows none of this name.
    """
    try:
        return (
            _git(repository, "rev-parse", "--verify", "--quiet", "--end-of-options", f"{version}^{{commit}}")
            .decode()
            .strip()
        )
    except NoVersionError as error:
        raise NoVersionError(
            f"there is no version {version!r}", "name a commit, a branch or a tag of this repository"
        ) from error


def _git(repository: Path, *arguments: str) -> bytes:
    try:
        done = subprocess.run(
            ["git", "-C", str(repository), *arguments],
            stdin=subprocess.DEVNULL,
            capture_output=True,
            check=False,
            timeout=_SECONDS,
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        raise NoVersionError(f"git {arguments[0]} cannot be run: {error}") from error
    if done.returncode:
        raise NoVersionError(f"git {arguments[0]} failed: {done.stderr.decode(errors='replace').strip()}")
    return done.stdout
