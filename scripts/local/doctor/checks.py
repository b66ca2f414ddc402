"""Checks of `hifi doctor` on the machine: prerequisites of a side."""

import re
import shutil
import subprocess
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import psutil

from scripts.local.jars import cached_jars
from scripts.local.ports import busy_ports
from scripts.local.twins.programs import INSTALL
from shared.runtime.jvm import JavaMissingError, java

_GIB: Final = 1024**3
_PYTHON: Final = (3, 11)
_JAVA: Final = 17


@dataclass(frozen=True, kw_only=True)
class Check:
    """Name and result of a check and, if it failed, the command or step that fixes it."""

    name: str
    found: str
    fix: str | None = None

    @property
    def ok(self) -> bool:
        """Whether the check passed."""
        return self.fix is None


@dataclass(frozen=True, kw_only=True)
class Room:
    """Disk and memory that have to be free, in GiB, and what to do if they are not."""

    disk: float
    disk_fix: str
    memory: float
    memory_fix: str


TO_START: Final = Room(
    disk=5.0,
    disk_fix="free 5 GiB, or keep the data elsewhere: hifi up --data DIR",
    memory=4.0,
    memory_fix="end other programs: a side needs 4 GiB",
)
"""Room for three brokers, the driver's JVM and its Python workers, and for the topics that they write."""

TO_GO_ON: Final = Room(
    disk=1.0,
    disk_fix="free 1 GiB: a broker without room for its next segments ends",
    memory=0.5,
    memory_fix="end other programs: with less than 0.5 GiB the kernel may end processes of the side",
)
"""Beside a running side, which has taken what it needs: for one more segment (256 MiB) of each broker, and
for what its processes grow by under load."""


def prerequisites(root: Path, room: Room) -> Iterator[Check]:
    """Check Python, Java, Maven, jars, disk and memory."""
    yield python_check(sys.version_info[:3])
    yield java_check(_java_version())
    yield maven_check(shutil.which("mvn"), jars_there=cached_jars().complete)
    yield jars_check(cached_jars().root, complete=cached_jars().complete)
    yield disk_check(root, shutil.disk_usage(_existing(root)).free / _GIB, room)
    yield memory_check(psutil.virtual_memory().available / _GIB, room)


def python_check(version: tuple[int, ...]) -> Check:
    """Check that Python is recent enough."""
    fix = None if version >= _PYTHON else "install Python 3.11 or newer: apt-get install python3 python3-venv"
    return Check(name="python", found=".".join(map(str, version)), fix=fix)


def java_check(version: int | None) -> Check:
    """Check that Java is installed and recent enough; `version` is the major one, None without Java."""
    fix = f"install a JDK {_JAVA}: apt-get install openjdk-{_JAVA}-jdk-headless"
    if version is None:
        return Check(name="java", found="not found", fix=fix)
    return Check(name="java", found=str(version), fix=None if version >= _JAVA else fix)


def maven_check(path: str | None, *, jars_there: bool) -> Check:
    """Check that Maven is installed, unless the jars are already there."""
    if path is None and not jars_there:
        return Check(name="mvn", found="not found", fix="apt-get install maven")
    return Check(name="mvn", found=path or "not found, but not needed: the jars are there")


def jars_check(root: Path, *, complete: bool) -> Check:
    """Check that the jars were fetched."""
    return Check(
        name="jars", found=str(root) if complete else "not fetched", fix=None if complete else "make setup"
    )


def disk_check(root: Path, free_gib: float, room: Room) -> Check:
    """Check that there is disk space for the topics."""
    fix = room.disk_fix if free_gib < room.disk else None
    return Check(name="disk", found=f"{free_gib:.1f} GiB free for {root}", fix=fix)


def memory_check(available_gib: float, room: Room) -> Check:
    """Check that there is memory for the side's processes."""
    fix = room.memory_fix if available_gib < room.memory else None
    return Check(name="memory", found=f"{available_gib:.1f} GiB available", fix=fix)


def haproxy_check(path: str | None, *, needed: bool) -> Check:
    """Check that HAProxy is installed, if there are twins."""
    if path is None and needed:
        return Check(name="haproxy", found="not found", fix=INSTALL)
    return Check(name="haproxy", found=path or f"not found; only `hifi up --twins` needs it: {INSTALL}")


def ports_check(ports: Sequence[int]) -> Check:
    """Check that the ports of a stopped side are free."""
    busy = busy_ports(ports)
    found = f"{ports[0]} to {ports[-1]} free" if not busy else f"in use: {busy}"
    return Check(name="ports", found=found, fix=f"hifi up --port {ports[0] + 1000}" if busy else None)


def java_major(output: str) -> int | None:
    """The major version in the output of `java -version`; 8 of 1.8.0_x."""
    match = re.search(r'version "(?:1\.)?(\d+)', output)
    return int(match.group(1)) if match else None


def _java_version() -> int | None:
    try:
        done = subprocess.run([java(), "-version"], capture_output=True, text=True, check=False, timeout=30)
    except (JavaMissingError, OSError, subprocess.TimeoutExpired):
        return None
    return java_major(done.stderr + done.stdout)


def _existing(path: Path) -> Path:
    """The path, or its nearest existing parent."""
    return next(p for p in (path, *path.parents) if p.exists())
