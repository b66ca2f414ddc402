"""The Java of this machine, and the flags by which a JVM maps its classes from an archive.

A JVM that maps classes instead of parsing and verifying them starts in fewer CPU seconds. On JDK 25 and newer
the archive is an AOT cache, which also has linked classes and profiles of methods; before, it is a class-data
archive.
"""

import os
import re
import shutil
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from shared.runtime.errors import OperatorError

_AOT_SINCE: Final = 25
"""The first release with AOT caches as archives here: those before it write the classes alone."""

_UNKNOWN: Final = 17
"""Assumed of a JDK without a file `release`: the oldest that hifi runs on."""

MAPS: Final = ("-XX:SharedArchiveFile=", "-XX:AOTCache=")
"""The beginnings of the flags of `mapping`."""


class JavaMissingError(OperatorError):
    """There is no Java; the text says what to do."""


def java() -> str:
    """The `java` of JAVA_HOME, else the first on the path.

    Raises:
        JavaMissingError: if there is none.
    """
    home = os.environ.get("JAVA_HOME")
    candidate = Path(home, "bin", "java") if home else None
    if candidate and candidate.is_file():
        return str(candidate)
    found = shutil.which("java")
    if found is None:
        raise JavaMissingError(
            "java not found: `make setup`, or install a JDK 17 (apt-get install openjdk-17-jdk-headless)"
        )
    return found


def release(program: str) -> int:
    """The major version of the JDK that a `java` belongs to, by the JDK's own file `release`."""
    described = Path(program).resolve().parents[1] / "release"
    text = described.read_text() if described.is_file() else ""
    found = re.search(r'^JAVA_VERSION="(?:1\.)?(\d+)', text, re.MULTILINE)
    return int(found.group(1)) if found else _UNKNOWN


def recording(archive: Path, version: int) -> tuple[str, ...]:
    """The flags of a JVM of a release that writes an archive of the classes it loaded when it ends.

    From JDK 25 on it only notes beside the archive what is to be in it: see `assembling`.
    """
    if version >= _AOT_SINCE:
        return ("-XX:AOTMode=record", f"-XX:AOTConfiguration={_noted(archive)}")
    return (f"-XX:ArchiveClassesAtExit={archive}",)


def assembling(command: Sequence[str], archive: Path) -> list[str]:
    """The command that makes the AOT cache of what a JVM with this command line noted: another JVM like it.

    The JVM could start that one itself as it ends (JEP 514). But that one writes to the standard streams, and
    dies if what read them has ended before, as a driver's Python process has.
    """
    java_program, *others = (word for word in command if not word.startswith("-XX:AOT"))
    made = ("-XX:AOTMode=create", f"-XX:AOTConfiguration={_noted(archive)}", f"-XX:AOTCache={archive}")
    return [java_program, *made, *others]


def assembles(version: int) -> bool:
    """Whether a release needs `assembling`."""
    return version >= _AOT_SINCE


def _noted(archive: Path) -> Path:
    return archive.with_suffix(".config")


def mapping(archive: Path | None, version: int) -> tuple[str, ...]:
    """The flags of a JVM of a release that maps an archive; none if there is no such file.

    A JVM with another class path than the archive's starts as if it had none, with a warning in its log.
    """
    if archive is None or not archive.is_file():
        return ()
    used = "AOTCache" if version >= _AOT_SINCE else "SharedArchiveFile"
    return (f"-XX:{used}={archive}",)
