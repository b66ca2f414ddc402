"""Client of HAProxy's runtime API, a Unix socket that takes a command a connection."""

import csv
import io
import socket
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Final

from msgspec import Struct

from shared.runtime.errors import OperatorError

_SECONDS: Final = 5.0
_CHUNK: Final = 65_536


class HaproxyError(OperatorError):
    """HAProxy does not answer, or refuses a command; the text has its words."""


class Server(Struct, frozen=True, kw_only=True):
    """A side, as one backend sees it."""

    backend: str
    side: str
    status: str
    """HAProxy's own word: `UP`, `DOWN`, `DRAIN`, `MAINT`, with more words while it changes."""

    weight: int
    in_flight: int
    """Requests that it has and has not answered."""

    requests: int
    """Requests that it was sent since HAProxy started."""

    connection_errors: int
    server_errors: int
    """Responses with a status of 500 or more."""

    @property
    def up(self) -> bool:
        """Whether its health checks pass."""
        return self.status.startswith(("UP", "DRAIN", "no check"))


def parsed_servers(text: str) -> Sequence[Server]:
    """The servers in the answer to `show stat`, CSV with `# ` before its first line.

    Raises:
        HaproxyError: if it is not such an answer.
    """
    rows = csv.DictReader(io.StringIO(text.removeprefix("# ").strip()))
    try:
        return [_server(row) for row in rows if row["svname"] not in ("FRONTEND", "BACKEND")]
    except (KeyError, ValueError, AttributeError) as error:
        raise HaproxyError(f"HAProxy's statistics cannot be read: {error!r} in {text[:200]!r}") from error


def _server(row: dict[str, str]) -> Server:
    return Server(
        backend=row["pxname"],
        side=row["svname"],
        status=row["status"],
        weight=_number(row["weight"]),
        in_flight=_number(row["scur"]),
        requests=_number(row["stot"]),
        connection_errors=_number(row["econ"]),
        server_errors=_number(row["hrsp_5xx"]),
    )


def _number(text: str) -> int:
    return int(text or 0)


class RuntimeApi:
    """Sends commands to a HAProxy. Every method raises HaproxyError."""

    def __init__(self, path: Path) -> None:
        self._path = path

    def servers(self) -> Sequence[Server]:
        """Every server of every backend."""
        return parsed_servers(self._ask("show stat -1 4 -1"))

    def set_weight(self, backend: str, side: str, weight: int) -> None:
        """Give a server its weight, 0 to 256; with 0 it gets no new requests."""
        self._order(f"set server {backend}/{side} weight {weight}")

    def replace_map(self, name: str, entries: Mapping[str, str]) -> None:
        """Let a map consist of these entries alone, at once."""
        prepared = self._ask(f"prepare map {name}").strip()
        version = prepared.removeprefix("New version created: ")
        if not version.isdigit():
            raise HaproxyError(f"HAProxy refuses `prepare map {name}`: {prepared}")
        for key, value in entries.items():
            self._order(f"add map @{version} {name} {key} {value}")
        self._order(f"commit map @{version} {name}")

    def _order(self, command: str) -> None:
        answer = self._ask(command).strip()
        if answer:
            raise HaproxyError(f"HAProxy refuses `{command}`: {answer}")

    def _ask(self, command: str) -> str:
        try:
            with socket.socket(socket.AF_UNIX) as connection:
                connection.settimeout(_SECONDS)
                connection.connect(str(self._path))
                connection.sendall(f"{command}\n".encode())
                parts = iter(lambda: connection.recv(_CHUNK), b"")
                return b"".join(parts).decode()
        except OSError as error:
            raise HaproxyError(
                f"HAProxy does not answer at {self._path}: {error}; `hifi doctor` shows whether it runs"
            ) from error
