"""Says whose a token of EKS is, as EKS does: it has to be a signed question to STS, for a cluster."""

import base64
import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qs, urlsplit


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
def token_reviews() -> Iterator[str]:
    """Serve until the block ends; yields the URL."""

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            review = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            name = signer(review["spec"]["token"])
            status: dict[str, Any] = {"authenticated": bool(name)}
            if name:
                status["user"] = {"username": name, "groups": ["system:masters"]}
            answer = {"apiVersion": "authentication.k8s.io/v1", "kind": "TokenReview", "status": status}
            body = json.dumps(answer).encode()
            self.send_response(200)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, format: str, *args: object) -> None:  # noqa: A002  # the name in the base class
            """Nothing."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_address[1]}"
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
