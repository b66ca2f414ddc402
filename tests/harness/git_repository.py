"""A small git repository of a test's own."""

import subprocess
from pathlib import Path


def git(folder: Path, *arguments: str) -> str:
    """Run git in a folder with a fixed identity; its output."""
    identity = ("-c", "user.name=a", "-c", "user.email=a@example.com", "-c", "commit.gpgsign=false")
    done = subprocess.run(
        ["git", "-C", str(folder), *identity, *arguments], check=True, capture_output=True, text=True
    )
    return done.stdout.strip()


def new_repository(folder: Path) -> Path:
    """A repository on the branch main, with a `file` that said `one` and says `two`."""
    folder.mkdir()
    git(folder, "init", "--quiet", "--initial-branch=main")
    for content in ("one", "two"):
        commit_file(folder, content)
    return folder


def commit_file(folder: Path, content: str) -> str:
    """Commit other content of `file`; the commit."""
    (folder / "file").write_text(content)
    git(folder, "add", "file")
    git(folder, "commit", "--quiet", "-m", content)
    return git(folder, "rev-parse", "HEAD")
