"""Folders of a group of processes that one supervisor runs: a local side, or the edge before two of them."""

from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True, kw_only=True)
class Folders:
    """Folders below `root`."""

    root: Path

    @property
    def logs(self) -> Path:
        """Folder of every process's log."""
        return self.root / "logs"

    @property
    def run(self) -> Path:
        """Folder of pid files, ready files and sockets while the processes run."""
        return self.root / "run"

    @property
    def temporary(self) -> Path:
        """Folder of the processes' temporary files, emptied at each start and end."""
        return self.root / "tmp"

    @property
    def store_folder(self) -> Path:
        """Folder of the documents and of what observe stores; it is kept when the processes stop."""
        return self.root / "store"

    def create(self) -> None:
        """Make the folders."""
        for folder in (self.root, self.logs, self.run, self.temporary, self.store_folder):
            folder.mkdir(parents=True, exist_ok=True)
