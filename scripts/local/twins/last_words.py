"""Why a program ended by itself, as far as the end of its log says it."""

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Final

import msgspec

_READ_BYTES: Final = 256 * 1024
_MOST_CHARACTERS: Final = 500
_FAILED: Final = frozenset({"ERROR", "CRITICAL"})
_OF_THE_JVM: Final = "org."
"""A JVM that is stopped logs errors of everything that it cuts off: they hide the one that stopped it."""

_ABOUT_THE_QUERY: Final = "=== Streaming Query ==="
"""The heading of what Spark adds to the error of a query: pages of its plan."""

_decoder = msgspec.json.Decoder(dict[str, Any])


def last_words(log: Path) -> str:
    """The last error that a program logged, or printed while it could not log yet; empty if there is none."""
    said = next((each for each in _errors(_end_of(log)) if each), "")
    return said if len(said) <= _MOST_CHARACTERS else f"{said[:_MOST_CHARACTERS]}..."


def _end_of(log: Path) -> list[str]:
    try:
        with log.open("rb") as file:
            file.seek(0, 2)
            file.seek(max(0, file.tell() - _READ_BYTES))
            return file.read().decode(errors="replace").splitlines()
    except FileNotFoundError:
        return []


def _errors(lines: list[str]) -> Iterator[str]:
    """Newest first."""
    for line in reversed(lines):
        try:
            yield _error_of(_decoder.decode(line))
        except msgspec.DecodeError:
            yield line.strip()


def _error_of(found: Mapping[str, Any]) -> str:
    if found.get("level") not in _FAILED or str(found.get("logger", "")).startswith(_OF_THE_JVM):
        return ""
    cause = str(found.get("error") or str(found.get("exc_info", "")).strip().rpartition("\n")[2])
    said = cause.partition(_ABOUT_THE_QUERY)[0].strip() or str(found.get("message", ""))
    return " ".join(said.split())
