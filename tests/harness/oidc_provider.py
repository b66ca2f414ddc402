"""An OpenID Connect provider on a real socket: discovery, keys, sign-in with PKCE, refresh tokens.

It checks what a provider must (client, exact redirect, code used once, verifier), and signs with real keys.
"""

import base64
import hashlib
import html
import json
import secrets
import threading
import time
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qs, urlencode, urlsplit

from joserfc import jwt
from joserfc.jwk import ECKey, Key, RSAKey

from tests.harness.http_server import STOP_SECONDS
from tests.harness.waiting import free_port

CLIENT = "hifi"
SECRET = "s:cr%t"
REGISTERED = ("RS256", "ES256", "HS256", "none")


@dataclass
class Grant:
    """The claims, redirect and challenge behind a code or refresh token."""

    claims: dict[str, Any]
    redirect: str = ""
    challenge: str = ""


@dataclass
class OidcProvider:
    """Runs until `close`. Who signs in, and what its tokens say, are a test's to set."""

    redirect: str = ""
    """The only URL that it sends a browser back to."""

    person: dict[str, Any] = field(default_factory=lambda: {"sub": "u-ann", "email": "ann@example.com"})
    seconds: float = 300
    """How long its ID tokens are valid."""

    public: bool = False
    """Whether its client has no secret, as a command on a person's machine."""

    away: bool = False
    """Whether it answers 500 to everything."""

    keys_read: int = 0
    renewed: int = 0

    def __post_init__(self) -> None:
        self.port = free_port()
        self.issuer = f"http://127.0.0.1:{self.port}/realm"
        self.signing = new_key()
        self.published: list[Key] = [self.signing]
        self.grants: dict[str, Grant] = {}
        self._server = ThreadingHTTPServer(("127.0.0.1", self.port), _handler(self))
        self._thread = threading.Thread(target=self._server.serve_forever, args=(STOP_SECONDS,), daemon=True)
        self._thread.start()

    def close(self) -> None:
        """Stop answering, and end the server."""
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()

    def rotate(self, *, keep: bool = False) -> None:
        """Sign with a new key from now on."""
        self.signing = new_key()
        self.published = [*(self.published if keep else []), self.signing]

    def token(
        self, *, key: Key | None = None, kid: str | None = None, alg: str = "ES256", **claims: Any
    ) -> str:
        """A signed token of the person; a claim of None is left out."""
        now = time.time()
        said = {"iss": self.issuer, "aud": CLIENT, "iat": now, "exp": now + self.seconds}
        said |= self.person | claims
        used = key or self.signing
        said = {name: value for name, value in said.items() if value is not None}
        return jwt.encode({"alg": alg, "kid": kid or used.kid}, said, used, algorithms=REGISTERED)

    def end_sessions(self) -> None:
        """Forget every refresh token."""
        self.grants.clear()

    def signed_in(self, query: dict[str, str]) -> str:
        """Where the browser goes with a code."""
        code = secrets.token_urlsafe(16)
        claims = self.person | ({"nonce": query["nonce"]} if "nonce" in query else {})
        self.grants[code] = Grant(claims, query["redirect_uri"], query["code_challenge"])
        return f"{query['redirect_uri']}?{urlencode({'code': code, 'state': query['state']})}"

    def wrong(self, query: dict[str, str]) -> str:
        """The names of wrong or missing parameters of a sign-in request; empty if all are right."""
        expected = {
            "client_id": CLIENT,
            "redirect_uri": self.redirect,
            "response_type": "code",
            "code_challenge_method": "S256",
        }
        found = [name for name, value in expected.items() if query.get(name) != value]
        found += [name for name in ("state", "nonce", "code_challenge") if not query.get(name)]
        return ", ".join(found + ([] if "openid" in query.get("scope", "").split() else ["scope"]))

    def exchanged(self, fields: dict[str, str], authorization: str) -> dict[str, Any] | None:
        """The answer of the token endpoint; None for a refusal."""
        given = base64.b64decode(authorization.removeprefix("Basic ") or "").decode()
        known = fields.get("client_id") == CLIENT if self.public else given == f"{CLIENT}:s%3Acr%25t"
        if not known:
            return None
        renews = fields["grant_type"] == "refresh_token"
        grant = self.grants.pop(fields["refresh_token" if renews else "code"], None)
        if grant is None or (not renews and not _proves(grant, fields)):
            return None
        self.renewed += renews
        following = secrets.token_urlsafe(16)
        self.grants[following] = Grant({k: v for k, v in grant.claims.items() if k != "nonce"})
        token = self.token(**grant.claims)
        return {
            "access_token": "opaque",
            "token_type": "Bearer",
            "id_token": token,
            "refresh_token": following,
        }


def new_key() -> ECKey:
    """A key with an id."""
    return ECKey.generate_key("P-256", {"kid": secrets.token_hex(4)})


def rsa_key(kid: str) -> RSAKey:
    """An RSA key with an id."""
    return RSAKey.generate_key(2048, {"kid": kid})


def _proves(grant: Grant, fields: dict[str, str]) -> bool:
    digest = hashlib.sha256(fields["code_verifier"].encode()).digest()
    challenge = base64.urlsafe_b64encode(digest).decode().rstrip("=")
    return (challenge, fields["redirect_uri"]) == (grant.challenge, grant.redirect)


def _plain(query: str) -> dict[str, str]:
    return {name: values[0] for name, values in parse_qs(query).items()}


def _handler(provider: OidcProvider) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        def log_message(self, *_: Any) -> None:
            """Keep the output of tests clean."""

        def do_GET(self) -> None:
            at = urlsplit(self.path)
            query = _plain(at.query)
            if provider.away:
                self._say(500, b"")
            elif at.path == "/realm/.well-known/openid-configuration":
                root = provider.issuer
                self._json(
                    {
                        "issuer": root,
                        "jwks_uri": f"{root}/keys",
                        "authorization_endpoint": f"{root}/authorize",
                        "token_endpoint": f"{root}/token",
                    }
                )
            elif at.path == "/realm/keys":
                provider.keys_read += 1
                self._json({"keys": [key.as_dict(private=False) for key in provider.published]})
            elif at.path == "/realm/authorize":
                self._page(provider.wrong(query), at.query)
            else:
                self._say(404, b"")

        def do_POST(self) -> None:
            at = urlsplit(self.path)
            fields = _plain(self.rfile.read(int(self.headers["Content-Length"])).decode())
            if provider.away:
                self._say(500, b"")
            elif at.path == "/realm/authorize":
                self._say(302, b"", provider.signed_in(_plain(at.query)))
            elif at.path == "/realm/token":
                found = provider.exchanged(fields, self.headers.get("Authorization", ""))
                self._json(found or {"error": "invalid_grant"}, 200 if found else 400)
            else:
                self._say(404, b"")

        def _page(self, wrong: str, query: str) -> None:
            if wrong:
                self._say(400, f"wrong: {wrong}".encode())
                return
            who, action = html.escape(provider.person["sub"]), html.escape(f"authorize?{query}")
            form = f'<form method="post" action="{action}"><button>Continue as {who}</button></form>'
            self._say(200, f'<!doctype html><link rel="icon" href="data:,">{form}'.encode())

        def _json(self, body: Any, status: int = 200) -> None:
            self._say(status, json.dumps(body).encode())

        def _say(self, status: int, body: bytes, location: str = "") -> None:
            self.send_response(status)
            self.send_header("Content-Length", str(len(body)))
            self.send_header("Content-Type", "text/html" if body.startswith(b"<") else "application/json")
            if location:
                self.send_header("Location", location)
            self.end_headers()
            self.wfile.write(body)

    return Handler
