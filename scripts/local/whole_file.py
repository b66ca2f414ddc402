"""Files that a reader finds whole, old or new, whenever their writer is killed."""

from pathlib import Path


def write_whole(path: Path, content: bytes) -> None:
    """Write a file by another name beside it, and rename that."""
    draft = path.with_suffix(".new")
    draft.write_bytes(content)
    draft.replace(path)
