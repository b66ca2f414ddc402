"""Signing in at an issuer with a browser on this machine, which comes back to a loopback port (RFC 8252)."""

import hmac
import time
from collections.abc import Callable
from http.server import BaseHTTPRequestHandler, HTTPServer
from typing import Final
from urllib.parse import parse_qs, urlsplit

from msgspec import Struct

from scripts.documents.api_client import DocumentsError
from shared.oidc.addresses import checked_issuer
from shared.oidc.code_flow import CodeFlow, SignedIn, new_sign_in
from shared.oidc.errors import ProviderAwayError, TokenRefusedError
from shared.oidc.keys import KeyCache
from shared.oidc.provider import Provider
from shared.oidc.verifier import Verifier
from shared.runtime.clock import wall_clock

WAIT_SECONDS: Final = 300.0
_SCOPES: Final = "openid email profile offline_access"
_PATH: Final = "/callback"
_SAID: Final = b"Signed in, or not: the terminal says. This page can be closed."


class IssuerClient(Struct, frozen=True, kw_only=True):
    """The command as a client of an issuer: a public one, which has no secret to keep."""

    issuer: str
    client_id: str


def sign_in(client: IssuerClient, port: int, show: Callable[[str], object]) -> SignedIn:
    """Have a person sign in with a browser, and wait for it.

    Args:
        client: as the issuer knows it.
        port: that the browser comes back to; 0 takes a free one, if the issuer allows any.
        show: opens an address in a browser.

    Raises:
        DocumentsError: if the sign-in fails.
    """
    begun = new_sign_in()
    try:
        with _Back(port) as back:
            flow = code_flow(client, f"http://127.0.0.1:{back.server_port}{_PATH}")
            show(flow.address(begun))
            code = back.code(begun.state, time.monotonic() + WAIT_SECONDS)
            return flow.redeem(code, begun)
    except (ProviderAwayError, TokenRefusedError, OSError) as error:
        raise DocumentsError(f"the sign-in failed: {error}", "try again") from error


def renew(client: IssuerClient, former: SignedIn) -> SignedIn:
    """A newer token.

    Raises:
        DocumentsError: if the issuer gives none.
    """
    try:
        return code_flow(client, "").renew(former)
    except TokenRefusedError as error:
        raise DocumentsError(f"the sign-in has ended: {error}", "sign in again") from error
    except ProviderAwayError as error:
        raise DocumentsError(f"the sign-in cannot be renewed: {error}", "try again") from error


def code_flow(client: IssuerClient, redirect: str) -> CodeFlow:
    """The flow of a client.

    Raises:
        DocumentsError: if the issuer's address cannot be one.
    """
    try:
        provider = Provider(checked_issuer(client.issuer))
    except ValueError as error:
        raise DocumentsError(f"--issuer: {error}") from error
    keys = KeyCache(provider.keys, time.monotonic)
    verifier = Verifier(client.issuer, [client.client_id], keys, wall_clock)
    return CodeFlow(
        provider, verifier, client_id=client.client_id, secret=None, redirect=redirect, scopes=_SCOPES
    )


class _Back(HTTPServer):
    """Takes the one request with which the browser comes back."""

    def __init__(self, port: int) -> None:
        super().__init__(("127.0.0.1", port), _Handler)
        self.answers: list[dict[str, str]] = []

    def code(self, state: str, until: float) -> str:
        """The code that belongs to a state; answers to others are passed over."""
        while (left := until - time.monotonic()) > 0:
            self.timeout = left
            self.handle_request()
            for found in self.answers:
                if hmac.compare_digest(found.get("state", "").encode(), state.encode()):
                    if "code" not in found:
                        raise TokenRefusedError("the issuer did not sign you in")
                    return found["code"]
            self.answers.clear()
        raise TokenRefusedError(f"no browser came back within {WAIT_SECONDS:.0f} s")


class _Handler(BaseHTTPRequestHandler):
    timeout = 10  # of a connection that sends nothing

    def do_GET(self) -> None:
        """Keep what the issuer says."""
        at = urlsplit(self.path)
        here = at.path == _PATH
        if here and isinstance(self.server, _Back):
            self.server.answers.append({name: each[0] for name, each in parse_qs(at.query).items()})
        self.send_response(200 if here else 404)
        self.send_header("Content-Type", "text/plain; charset=utf-8")
        self.end_headers()
        self.wfile.write(_SAID if here else b"")

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002  # the library's name
        """Nothing: the address holds the code."""
