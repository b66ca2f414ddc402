"""DynamoDB Local, put where LocalStack looks for it: that would download it, and a JDK, from elsewhere.

`python -m scripts.aws.dynamodb_local` does it once.
"""

import os
import shutil
import sys
from pathlib import Path
from typing import Final
from zipfile import ZipFile

from scripts.aws.localstack import LIBRARIES
from scripts.local.jars import JarsError, Say, ensure_store

_MAIN: Final = "com.amazonaws.services.dynamodbv2.local.main.ServerRunner"
_JAVA: Final = "java/21"
"""The folder in which LocalStack looks for a JDK; DynamoDB Local works with 17, which hifi needs too."""

_AGENT: Final = "ddb-local-loader-0.1.jar"
"""LocalStack's own raises the number of indexes of a table; here it is one that does nothing."""

_LINE_BYTES: Final = 72
"""Most bytes of a manifest's line, by the JAR specification."""


def install(libraries: Path, say: Say) -> None:
    """Put DynamoDB Local of Maven Central, and this machine's JDK, where LocalStack looks for them, once.

    Args:
        libraries: LocalStack's `lib` folder, which need not exist.
        say: Called with each step that takes time.

    Raises:
        JarsError: Maven or the JDK is missing, or Maven Central cannot be reached.
    """
    if _jar(libraries).exists():
        return
    jars = ensure_store(say)
    java = shutil.which("java", path=_path_of_java())
    if java is None:
        raise JarsError("java not found: `make setup`, or install a JDK from 17 on")
    home = libraries / _JAVA
    home.parent.mkdir(parents=True, exist_ok=True)
    home.unlink(missing_ok=True)
    home.symlink_to(Path(java).resolve().parents[1])
    folder = _jar(libraries).parent
    shutil.copytree(jars, folder / "DynamoDBLocal_lib", dirs_exist_ok=True)
    (agent,) = jars.glob("byte-buddy-agent-*.jar")
    shutil.copy(agent, folder / _AGENT)
    _write_starter(folder, sorted(jars.glob("*.jar")))


def _jar(libraries: Path) -> Path:
    return libraries / "dynamodb-local" / "2" / "DynamoDBLocal.jar"


def _path_of_java() -> str:
    home = os.environ.get("JAVA_HOME")
    return os.pathsep.join([*([f"{home}/bin"] if home else []), os.environ.get("PATH", os.defpath)])


def _write_starter(folder: Path, jars: list[Path]) -> None:
    """The jar that LocalStack starts, which holds only where the others are. Last: it marks the whole."""
    places = " ".join(f"DynamoDBLocal_lib/{jar.name}" for jar in jars)
    lines = ["Manifest-Version: 1.0", f"Main-Class: {_MAIN}", *_wrapped(f"Class-Path: {places}")]
    draft = folder / "draft.jar"
    with ZipFile(draft, "w") as archive:
        archive.writestr("META-INF/MANIFEST.MF", "".join(f"{line}\n" for line in lines))
    draft.rename(folder / "DynamoDBLocal.jar")


def _wrapped(line: str) -> list[str]:
    """A manifest's line in pieces, each but the first after a space."""
    first, rest = line[:_LINE_BYTES], line[_LINE_BYTES:]
    return [first, *(f" {piece}" for piece in _pieces(rest, _LINE_BYTES - 1))]


def _pieces(text: str, size: int) -> list[str]:
    return [text[start : start + size] for start in range(0, len(text), size)]


def main() -> None:
    """Install; without it LocalStack serves everything but DynamoDB."""
    try:
        install(LIBRARIES, lambda text: print(f"localstack: {text}", file=sys.stderr, flush=True))
    except JarsError as error:
        sys.exit(f"localstack: no DynamoDB: {error}")


if __name__ == "__main__":
    main()
