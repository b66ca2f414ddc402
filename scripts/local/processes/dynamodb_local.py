"""DynamoDB Local: the documents of a local side, and the scorecards that its observe keeps."""

import os
from pathlib import Path
from typing import Final

from scripts.local.addresses import HOST
from scripts.local.jars import STORE_MAIN
from shared.runtime.jvm import java

_JVM_FLAGS: Final = (
    "-Xms16m",
    "-Xmx96m",
    "-XX:+UseSerialGC",
    "-XX:TieredStopAtLevel=1",
    "-Djava.awt.headless=true",
)
_KEY: Final = {"AWS_ACCESS_KEY_ID": "local", "AWS_SECRET_ACCESS_KEY": "local"}


def command(folder: Path, port: int, temporary: Path, jars: Path) -> list[str]:
    """The command line of the store.

    Args:
        folder: where it keeps its data.
        port: on which it listens.
        temporary: folder of its temporary files.
        jars: folder of its class path, with its main class.

    Raises:
        JavaMissingError: if there is no Java.
    """
    return [
        java(),
        *_JVM_FLAGS,
        f"-Djava.io.tmpdir={temporary}",
        f"-Djava.library.path={jars}",
        *("-cp", f"{jars}/*", STORE_MAIN),
        *(HOST, str(port), str(folder)),
    ]


def client_environment() -> dict[str, str]:
    """Region and keys, which AWS clients require and the store ignores; the environment's are kept."""
    region = os.environ.get("AWS_REGION") or os.environ.get("AWS_DEFAULT_REGION") or "us-east-1"
    keys = {} if os.environ.get("AWS_ACCESS_KEY_ID") else _KEY
    return keys | {"AWS_DEFAULT_REGION": region}
