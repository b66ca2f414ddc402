"""Checks the folder of a side or of twins before anything is written: hifi empties some of what is in it."""

from collections.abc import Sequence
from pathlib import Path
from typing import Final

from scripts.local.kafka.brokers import formatted
from scripts.local.side import NoSideError, Side
from shared.runtime.errors import OperatorError

_BEFORE_A_START: Final = frozenset({"run", "secrets.yaml", "aws", "bootstrap", "localstack"})
"""Names that may be in a folder before its first start: the lock of a refused one, secrets, and in `.hifi`
what the commands for AWS keep there."""


class DataFolderError(OperatorError):
    """A folder cannot be that of a side or of twins; the text says why and what to do."""


def check_side_folder(side: Side) -> None:
    """Make the folder of a side, unless it holds files that are not hifi's.

    Raises:
        DataFolderError: if it does, is that of one of two sides, or cannot be used.
    """
    if side.shared is None and (twins := _twins_of(side.root)):
        raise DataFolderError(
            f"{side.root} is one of two sides: start both by `hifi up --twins --data {twins}`"
        )
    own = side.description.exists() or formatted(side)
    _check(side.root, own=own or side.shared is not None)  # that of twins was checked as a whole
    if not formatted(side) and any(side.checkpoints.glob("*")):
        raise DataFolderError(
            f"{side.root} has Spark's checkpoints but not the brokers they belong to: "
            f"remove {side.root} to start from nothing"
        )


def check_twins_folder(root: Path, *, own: bool) -> None:
    """The same for the folder of twins; `own` says whether there were some in it.

    Raises:
        DataFolderError: as `check_side_folder`, or if the folder is that of a side.
    """
    if (root / "side.json").exists():
        raise DataFolderError(
            f"{root} belongs to a side by itself; choose another folder: `hifi up --twins --data DIR`"
        )
    _check(root, own=own)


def _check(root: Path, *, own: bool) -> None:
    if "," in str(root):
        raise DataFolderError(f"{root}: Kafka cuts a path at its comma; name a --data without one")
    try:
        foreign = [] if own else _foreign(root)
        if not foreign:
            (root / "run").mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise DataFolderError(f"{root} cannot be used as data folder: {error.strerror}") from error
    if foreign:
        raise DataFolderError(
            f"{root} has files that are not hifi's ({', '.join(foreign[:3])}): name a new folder by --data"
        )


def _twins_of(root: Path) -> Path | None:
    """The folder of the twins of which a side was started in `root`."""
    try:
        shared = Side.load(root).shared
    except NoSideError:
        return None
    return shared.folder if shared else None


def _foreign(root: Path) -> Sequence[str]:
    return sorted({each.name for each in root.iterdir()} - _BEFORE_A_START) if root.exists() else []
