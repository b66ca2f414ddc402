"""The checkpoints of a local side: folders."""

import shutil
from collections.abc import Mapping
from pathlib import Path


class FolderCheckpoints:
    """A CheckpointStore of `pipelines/control/backends/checkpoints.py`."""

    def __init__(self, root: Path) -> None:
        """`root` has a folder with the checkpoint of each query."""
        self._root = root

    def numbers(self, query: str, log: str) -> set[int]:
        """The numbers that are names of files in a folder of a query's checkpoint."""
        return {int(each.name) for each in (self._folder(query) / log).glob("*") if each.name.isdigit()}

    def read(self, query: str, file: str) -> bytes | None:
        """The content of a file of a query's checkpoint; None if it is not there."""
        try:
            return (self._folder(query) / file).read_bytes()
        except FileNotFoundError:
            return None

    def replace(self, query: str, files: Mapping[str, bytes]) -> None:
        """Let a query's checkpoint consist of these files alone.

        Who is killed meanwhile leaves the former one or these, and does it again.
        """
        folder, former = self._root / query, self._former(query)
        draft = folder.with_name(f"{query}.new")
        shutil.rmtree(draft, ignore_errors=True)
        draft.mkdir(parents=True)
        for name, content in files.items():
            (draft / name).parent.mkdir(parents=True, exist_ok=True)
            (draft / name).write_bytes(content)
        if folder.exists():
            shutil.rmtree(former, ignore_errors=True)
            folder.rename(former)
        draft.rename(folder)
        shutil.rmtree(former, ignore_errors=True)

    def _folder(self, query: str) -> Path:
        folder = self._root / query
        return folder if folder.exists() else self._former(query)

    def _former(self, query: str) -> Path:
        return self._root / f"{query}.old"
