"""Prints and writes the figures of an experiment."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import msgspec

from scripts.experiments.harness.bounds import Bound, check
from scripts.terminal import err, out
from shared.runtime.errors import OperatorError


class OutputError(OperatorError):
    """A file of figures cannot be written."""


def say(text: str) -> None:
    """Print progress to stderr."""
    err().print(text, style="dim", markup=False, soft_wrap=True)


def to_json(value: object) -> bytes:
    """Figures as indented JSON with a final newline."""
    return msgspec.json.format(msgspec.json.encode(value), indent=2) + b"\n"


def writable(path: Path | None) -> Path | None:
    """Check the option of a file of figures before anything is measured; a new file is not left behind.

    Raises:
        OutputError: if it cannot be written.
    """
    if path is not None:
        is_new = not path.exists()
        with _named(path), path.open("ab"):
            pass
        if is_new:
            path.unlink()
    return path


@contextmanager
def _named(path: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise OutputError(f"{path} cannot be written: {error.strerror}", "name another file") from error


def write_json(path: Path, value: object) -> None:
    """Replace a file with figures as JSON.

    Raises:
        OutputError: if it cannot be written.
    """
    with _named(path):
        path.write_bytes(to_json(value))


def report(bounds: Sequence[Bound]) -> None:
    """Print the figure and bound of each on stdout.

    Raises:
        BrokenBoundError: if one is not kept.
    """
    for bound in bounds:
        out().print(f"{bound}: {'kept' if bound.kept else 'BROKEN'}", markup=False, soft_wrap=True)
    check(bounds)
