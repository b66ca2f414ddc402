"""Stores of a side's secrets: AWS Secrets Manager, or a file on a developer's machine."""

import os
import stat
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Final

import yaml

from shared.contracts.side_weights import LOCAL
from shared.contracts.yaml_bounds import YamlError, load_bounded
from shared.runtime.logging import get_logger
from shared.runtime.secrets import SecretStore, SecretStoreError

_log = get_logger(__name__)

_BATCH: Final = 20
"""Most secrets in one BatchGetSecretValue."""

_MOST_BYTES: Final = 1024 * 1024
_OTHERS: Final = stat.S_IRWXG | stat.S_IRWXO
_MISSING: Final = frozenset({"ResourceNotFoundException", "InvalidRequestException"})
"""Errors of secrets that are not there. The second one is that of a secret that was deleted and may still be
restored: a read that names no version has no other reason for it."""


def store_for(side: str, path: Path | None) -> SecretStore:
    """The file if there is one, else AWS; a local side without a file has no secrets."""
    if path is not None:
        return SecretsFile(path)
    return NoStore() if side == LOCAL else SecretsManager(side)


class NoStore:
    """The store of a side without secrets."""

    def fetch(self, names: Sequence[str]) -> Iterator[Mapping[str, str | None]]:
        """None for each."""
        yield dict.fromkeys(names)


class SecretsFile:
    """A YAML file of `name: value` lines that only its owner may read. Read again at each refresh."""

    def __init__(self, path: Path) -> None:
        self._path = path

    def fetch(self, names: Sequence[str]) -> Iterator[Mapping[str, str | None]]:
        """The file's values for these names.

        Raises:
            SecretStoreError: if the file cannot be used; the text gives the cause and the fix.
        """
        known = self._parsed(self._read())
        yield {name: known.get(name) for name in names}

    def _read(self) -> bytes:
        try:
            with self._path.open("rb") as file:
                found = os.fstat(file.fileno())
                mode = stat.S_IMODE(found.st_mode)
                if mode & _OTHERS:
                    raise SecretStoreError(
                        f"{self._path} has mode {mode:04o}, so others may read it: run chmod 600 {self._path}"
                    )
                return file.read(_MOST_BYTES)
        except OSError as error:
            raise SecretStoreError(f"{self._path} cannot be read: {error.strerror}") from error

    def _parsed(self, text: bytes) -> Mapping[str, str]:
        """`from None` hides the parser's error, which quotes the line and with it a value."""
        try:
            found = load_bounded(text)
        except YamlError as error:
            raise SecretStoreError(f"{self._path}, line {error.line}: {error}") from None
        except yaml.MarkedYAMLError as error:
            line = error.problem_mark.line + 1 if error.problem_mark else "?"
            raise SecretStoreError(f"{self._path}, line {line}: is not YAML") from None
        except (yaml.YAMLError, ValueError, RecursionError):
            raise SecretStoreError(f"{self._path}: is not YAML") from None
        if not isinstance(found or {}, dict):
            raise SecretStoreError(f"{self._path}: write a line `name: value` for each secret")
        wrong = [name for name, value in (found or {}).items() if not isinstance(value, str) or not value]
        if wrong:
            raise SecretStoreError(f"{self._path}: put the value of {wrong[0]!r} in quotes")
        return found or {}


class SecretsManager:
    """AWS Secrets Manager, with secrets under `hifi/<side>/`.

    Secrets are read by name, which needs no permission to list (a list may be five minutes old), but
    `secretsmanager:BatchGetSecretValue`, and `GetSecretValue` on `hifi/<side>/*`. boto3 takes region,
    credentials and endpoint from the environment.
    """

    def __init__(self, side: str) -> None:
        self._prefix = f"hifi/{side}/"
        self._client: Any = None

    def fetch(self, names: Sequence[str]) -> Iterator[Mapping[str, str | None]]:
        """The current values of these names, some with each request.

        Raises:
            SecretStoreError: if the service does not answer or refuses.
        """
        import botocore.exceptions  # noqa: PLC0415 - a side that needs it pays for it: 30 MiB

        try:
            for some in _batches(names):
                yield dict(self._batch(some))
        except (botocore.exceptions.BotoCoreError, botocore.exceptions.ClientError) as error:
            raise SecretStoreError(f"Secrets Manager: {_reason(error)}") from None

    def _batch(self, names: Sequence[str]) -> Iterator[tuple[str, str | None]]:
        answer = self._connected().batch_get_secret_value(
            SecretIdList=[self._prefix + name for name in names]
        )
        for item in answer.get("SecretValues", ()):
            yield item["Name"].removeprefix(self._prefix), _text(item)
        for item in answer.get("Errors", ()):
            name = item["SecretId"].removeprefix(self._prefix)
            if item["ErrorCode"] in _MISSING:
                yield name, None
            else:
                _log.warning(
                    "secret not read: Secrets Manager returned an error",
                    extra={"secret": name, "error": item["ErrorCode"]},
                )

    def _connected(self) -> Any:
        if self._client is None:
            import boto3  # noqa: PLC0415
            from botocore.config import Config  # noqa: PLC0415

            limits = Config(
                connect_timeout=3, read_timeout=5, retries={"mode": "standard", "max_attempts": 3}
            )
            self._client = boto3.session.Session().client("secretsmanager", config=limits)
        return self._client


def _batches(names: Sequence[str]) -> Iterator[Sequence[str]]:
    for at in range(0, len(names), _BATCH):
        yield names[at : at + _BATCH]


def _text(item: Mapping[str, Any]) -> str | None:
    """The text of a secret; the bytes of a binary one must be UTF-8."""
    if "SecretString" in item:
        return str(item["SecretString"])
    try:
        return bytes(item["SecretBinary"]).decode()
    except UnicodeDecodeError:
        return None


def _reason(error: Exception) -> str:
    """AWS's error code, or the class of the client's error; never a message."""
    response = getattr(error, "response", None)
    code = response.get("Error", {}).get("Code") if isinstance(response, dict) else None
    return str(code or type(error).__name__)
