"""The jars of brokers, Kafka connector and store, copied once from Maven Central into a cache.

`python -m scripts.local.jars` fetches them and prints their folder.
"""

import hashlib
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Final
from zipfile import ZipFile

from scripts.terminal import run_command
from shared.runtime.errors import OperatorError
from shared.runtime.jvm import java

_POM: Final = Path(__file__).with_name("pom.xml")
_SETTINGS: Final = Path(__file__).with_name("maven-settings.xml")
_STORE_POM: Final = Path(__file__).parent / "dynamodb" / "pom.xml"
_STORE: Final = "dynamodb"
_STORE_SOURCE: Final = Path(__file__).with_name("LocalStore.java")
STORE_MAIN: Final = _STORE_SOURCE.stem
"""The main class of DynamoDB Local on a local side."""

_COMPILE_SECONDS: Final = 120
_CLUSTER_POM: Final = Path(__file__).parents[2] / "infra" / "workloads" / "images" / "cluster" / "pom.xml"
_CLUSTER: Final = "cluster"
_PROFILES: Final = ("spark", "broker")

Say = Callable[[str], None]


class JarsError(OperatorError):
    """The jars cannot be fetched; the text says why and what to do."""


@dataclass(frozen=True)
class Jars:
    """Folders of jars below `root`; one class path each."""

    root: Path

    @property
    def spark(self) -> Path:
        """Kafka connector of Spark and what it needs beside PySpark's own jars."""
        return self.root / "spark"

    @property
    def broker(self) -> Path:
        """Kafka broker."""
        return self.root / "broker"

    @property
    def store(self) -> Path:
        """DynamoDB Local; it has a POM of its own, so that a new version does not fetch the others again."""
        return cache_of(_STORE_POM) / _STORE

    @property
    def complete(self) -> bool:
        """Whether all folders exist; each appears only when it is complete."""
        return all(folder.is_dir() for folder in (*(self.root / each for each in _PROFILES), self.store))


def cached_jars() -> Jars:
    """Folders of the jars, fetched or not."""
    return Jars(cache_of(_POM))


def cache_of(pom: Path) -> Path:
    """The folder for the jars of a POM: in the user's cache, named after the POM's content."""
    cache = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    digest = hashlib.sha256(pom.read_bytes()).hexdigest()[:12]
    return Path(cache) / "hifi" / f"jars-{digest}"


def ensure_jars(say: Say) -> Jars:
    """The jars, fetched if they are missing; `say` gets a line for each slow step.

    Raises:
        JarsError: if Maven is missing or fails.
    """
    jars = cached_jars()
    for profile in _PROFILES:
        ensure_profile(_POM, profile, say)
    ensure_store(say)
    return jars


def ensure_store(say: Say) -> Path:
    """The folder of the jars of DynamoDB Local, fetched if they are missing, with its main class.

    Raises:
        JarsError: if Maven is missing or fails, or the JDK cannot compile the main class.
    """
    folder = ensure_profile(_STORE_POM, _STORE, say)
    digest = hashlib.sha256(_STORE_SOURCE.read_bytes()).hexdigest()[:12]
    main = folder / f"{STORE_MAIN}-{digest}.jar"
    if not main.exists():
        _compile(_STORE_SOURCE, folder, main)
    return folder


def _compile(source: Path, jars: Path, target: Path) -> None:
    """A jar of the classes of a source; others of the same source as it was are removed."""
    javac = Path(java()).with_name("javac")
    with tempfile.TemporaryDirectory(dir=jars.parent) as name:
        folder = Path(name)
        try:
            subprocess.run(
                [javac, "-cp", f"{jars}/*", "-d", folder, source], check=True, timeout=_COMPILE_SECONDS
            )
        except (OSError, subprocess.SubprocessError) as error:
            raise JarsError(
                f"{source.name} cannot be compiled: {error}; is {javac.parent} a JDK's?"
            ) from error
        draft = folder / target.name
        with ZipFile(draft, "w") as archive:
            for made in folder.glob("*.class"):
                archive.write(made, made.name)
        for old in jars.glob(f"{source.stem}-*.jar"):
            old.unlink(missing_ok=True)
        draft.replace(target)


def ensure_cluster(say: Say) -> Path:
    """The folder of the jars that the twins' Spark image has and a local side does not need.

    Raises:
        JarsError: if Maven is missing or fails.
    """
    return ensure_profile(_CLUSTER_POM, _CLUSTER, say)


def ensure_profile(pom: Path, profile: str, say: Say) -> Path:
    """The folder of the jars of one profile of a POM, fetched if they are missing.

    Raises:
        JarsError: if Maven is missing or fails.
    """
    root = cache_of(pom)
    if not (root / profile).is_dir():
        say(f"fetching the {profile} jars from Maven Central")
        _fetch(pom, profile, root)
    return root / profile


def _fetch(pom: Path, profile: str, root: Path) -> None:
    maven = shutil.which("mvn")
    if maven is None:
        raise JarsError("mvn not found: `make setup`, or install Maven (apt-get install maven)")
    root.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=root, prefix=f".{profile}-") as draft:
        folder = Path(draft) / profile
        done = subprocess.run(
            [
                *(maven, "-B", "-q", "-Dstyle.color=never", "-s", str(_SETTINGS), "-f", str(pom)),
                *(f"-P{profile}", "dependency:copy-dependencies", f"-DoutputDirectory={folder}"),
            ],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            check=False,
        )
        if done.returncode:
            first = next((line for line in done.stdout.splitlines() if "ERROR" in line), "no output")
            raise JarsError(f"Maven could not fetch the {profile} jars: {first}; is Maven Central reachable?")
        if not (root / profile).is_dir():  # unless another process was faster
            folder.rename(root / profile)


def main() -> None:
    """Fetch missing jars and print their folder."""
    print(ensure_jars(lambda text: print(text, file=sys.stderr, flush=True)).root)


if __name__ == "__main__":
    run_command(main)
