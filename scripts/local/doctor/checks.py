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
_DISK_GIB: Final = 5.0
_MEMORY_GIB: Final = 4.0


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


def prerequisites(root: Path) -> Iterator[Check]:
    """Check Python, Java, Maven, jars, disk and memory."""
    yield python_check(sys.version_info[:3])
    yield java_check(_java_version())
    yield maven_check(shutil.which("mvn"), jars_there=cached_jars().complete)
    yield jars_check(cached_jars().root, complete=cached_jars().complete)
    yield disk_check(root, shutil.disk_usage(_existing(root)).free / _GIB)
    yield memory_check(psutil.virtual_memory().available / _GIB)


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


def disk_check(root: Path, free_gib: float) -> Check:
    """Check that there is disk space for the topics."""
    fix = f"free {_DISK_GIB:.0f} GiB, or keep the data elsewhere: hifi up --data DIR"
    return Check(
        name="disk", found=f"{free_gib:.1f} GiB free for {root}", fix=fix if free_gib < _DISK_GIB else None
    )


def memory_check(available_gib: float) -> Check:
    """Check that there is memory for three brokers, the driver's JVM and its Python workers."""
    fix = f"end other programs: a side needs {_MEMORY_GIB:.0f} GiB"
    return Check(
        name="memory",
        found=f"{available_gib:.1f} GiB available",
        fix=fix if available_gib < _MEMORY_GIB else None,
    )


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
