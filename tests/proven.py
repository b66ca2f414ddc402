"""The results of `make proof` for a commit: one small file a part, beside its log."""

import subprocess
from pathlib import Path

import msgspec


class Record(msgspec.Struct, frozen=True, kw_only=True):
    """How a part ended."""

    commit: str
    status: int
    seconds: float
    figures: str


def keep(folder: Path, part: str, record: Record) -> None:
    """Write down how a part ended, in place of what it did before."""
    _file(folder, part).write_bytes(msgspec.json.encode(record))


def proven(folder: Path, part: str, commit: str) -> Record | None:
    """How a part ended, if it has proven what it should of this very commit."""
    try:
        found = msgspec.json.decode(_file(folder, part).read_bytes(), type=Record)
    except (FileNotFoundError, msgspec.MsgspecError):
        return None
    return found if commit and (found.commit, found.status) == (commit, 0) else None


def checked_out() -> str:
    """The commit of the working tree; empty if files differ from it, so that nothing is known of it."""
    if _git("status", "--porcelain"):
        return ""
    return _git("rev-parse", "HEAD")


def _file(folder: Path, part: str) -> Path:
    return folder / f"{part}.json"


def _git(*arguments: str) -> str:
    return subprocess.run(["git", *arguments], capture_output=True, text=True, check=True).stdout.strip()
