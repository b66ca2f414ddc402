"""Where the archives of classes are that this machine's JVMs map, and for which jars and which JDK they hold.

`make setup` makes them (`class_archive_recording`). A JVM without one starts as usual, only slower.
"""

import hashlib
import sys
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from scripts.local.jars import Jars
from scripts.local.pyspark_package import pyspark_folder
from shared.runtime.jvm import java

SUFFIX: Final = ".jsa"


@dataclass(frozen=True)
class ClassArchive:
    """An archive that was made, or can be."""

    folder: Path
    """Is removed together with the jars that the archive is of."""

    name: str
    class_path: tuple[Path, ...]
    """Folders of jars."""

    @property
    def file(self) -> Path:
        """Named after the JDK and every jar: with other ones it is another file, which does not exist yet."""
        found = "\n".join((_stamp(Path(java()).resolve()), *sorted(map(_stamp, self._jars()))))
        return self.folder / f"{self.name}-{hashlib.sha256(found.encode()).hexdigest()[:12]}{SUFFIX}"

    def _jars(self) -> Iterable[Path]:
        for place in self.class_path:
            yield from place.glob("*.jar")

    def stale(self) -> list[Path]:
        """Archives of the same name, for jars or a JDK as they were before."""
        return [each for each in self.folder.glob(f"{self.name}-*{SUFFIX}") if each != self.file]


def broker_archive(jars: Path) -> ClassArchive:
    """A Kafka broker's archive; `jars` is the folder of its class path."""
    return ClassArchive(jars.parent, "broker", (jars,))


def spark_archive(jars: Path) -> ClassArchive:
    """The archive of Spark's driver, with the connector's jars; PySpark's own are in this environment."""
    return ClassArchive(Path(sys.prefix), "spark", (pyspark_folder() / "jars", jars))


def missing_archives(jars: Jars) -> list[str]:
    """Names of the archives that `make setup` would make."""
    return [
        each.name
        for each in (broker_archive(jars.broker), spark_archive(jars.spark))
        if not each.file.exists()
    ]


def _stamp(file: Path) -> str:
    """The path, size and time of a jar, which a JVM compares before it maps an archive."""
    found = file.stat()
    return f"{file} {found.st_size} {found.st_mtime_ns}"
