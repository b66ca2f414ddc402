"""Parallel commands share a file of contexts and an issuer that accepts each refresh token once."""

import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from scripts.cli.commands.context import remove
from scripts.documents.contexts import Context, Contexts, SignIn, change_contexts, read_contexts
from scripts.local.client.documents import api_at
from tests.harness.oidc_provider import CLIENT, Grant, OidcProvider

WATCHED_SECONDS = 1.0
"""Seconds in which another command would long have gone on if it did not wait."""

SECONDS = 60.0


class Issuer(OidcProvider):
    """Lets a test act during its first request."""

    def __post_init__(self) -> None:
        super().__post_init__()
        self.meanwhile: list[Callable[[], None]] = []

    def exchanged(self, fields: dict[str, str], authorization: str) -> dict[str, Any] | None:
        while self.meanwhile:
            self.meanwhile.pop()()
        return super().exchanged(fields, authorization)


@pytest.fixture
def issuer() -> Iterator[Issuer]:
    issuer = Issuer(public=True)
    yield issuer
    issuer.close()


@pytest.fixture
def file(issuer: Issuer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Contexts with one token that is about to expire."""
    file = tmp_path / "contexts.yaml"
    monkeypatch.setenv("HIFI_CONTEXTS", str(file))
    issuer.grants["first"] = Grant(issuer.person)
    by = SignIn(issuer=issuer.issuer, client_id=CLIENT, refresh_token="first")
    ending = issuer.token(exp=time.time() + 10)
    context = Context(server="https://api.example.com", token=ending, sign_in=by)
    change_contexts(file, lambda _: Contexts().adding("shop", context))
    return file


class Beside:
    """An action of another command, which has `WATCHED_SECONDS` for it until the issuer answers."""

    def __init__(self, work: Callable[[], None]) -> None:
        self._thread = threading.Thread(target=work)

    def begin(self) -> None:
        self._thread.start()
        self._thread.join(WATCHED_SECONDS)

    def end(self) -> None:
        self._thread.join(SECONDS)
        assert not self._thread.is_alive()


def test_two_commands_renew_once_and_both_have_the_token(issuer: Issuer, file: Path) -> None:
    tokens: list[str] = []
    other = Beside(lambda: tokens.append(api_at("shop", None).server.token))
    issuer.meanwhile.append(other.begin)
    tokens.append(api_at("shop", None).server.token)
    other.end()
    kept = read_contexts(file).named("shop")
    assert (tokens, issuer.renewed) == ([kept.token] * 2, 1)
    assert kept.sign_in is not None and [kept.sign_in.refresh_token] == [*issuer.grants]


def test_a_context_that_is_removed_while_the_issuer_is_asked_stays_removed(
    issuer: Issuer, file: Path
) -> None:
    other = Beside(lambda: remove("shop"))
    issuer.meanwhile.append(other.begin)
    assert api_at("shop", None).server.token
    other.end()
    assert read_contexts(file) == Contexts()
