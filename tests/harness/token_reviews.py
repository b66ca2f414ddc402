"""Names the owner of an EKS token, as EKS does: it has to be a signed question to STS, for a cluster."""

import base64
import json
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler
from typing import Any
from urllib.parse import parse_qs, urlsplit

from tests.harness.http_server import QuietHandler, http_served


def signer(token: str) -> str:
    """The access key that signed a token; empty if it is none of EKS."""
    head, _, text = token.partition(".")
    if head != "k8s-aws-v1":
        return ""
    url = urlsplit(base64.urlsafe_b64decode(text + "=" * (-len(text) % 4)).decode())
    query = {name: values[0] for name, values in parse_qs(url.query).items()}
    signed = "x-k8s-aws-id" in query.get("X-Amz-SignedHeaders", "").split(";")
    asks = query.get("Action") == "GetCallerIdentity" and "X-Amz-Signature" in query
    return query["X-Amz-Credential"].partition("/")[0] if signed and asks else ""


@contextmanager
def token_reviews(group: str) -> Iterator[str]:
    """Serve until the block ends; yields the URL. Whoever signed a token is of the group."""

    class Handler(QuietHandler, BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            review = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            name = signer(review["spec"]["token"])
            status: dict[str, Any] = {"authenticated": bool(name)}
            if name:
                status["user"] = {"username": name, "groups": [group]}
            answer = {"apiVersion": "authentication.k8s.io/v1", "kind": "TokenReview", "status": status}
            body = json.dumps(answer).encode()
            self.respond(200, body)

    with http_served(Handler) as url:
        yield url
