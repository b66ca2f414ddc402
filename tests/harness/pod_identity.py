"""EKS Pod Identity's agent on this machine: gives a pod's processes credentials for its token."""

import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

KEY, SECRET, REGION = "AKIDTWIN", "not a secret", "eu-west-1"
_TOKEN = "a pod's token"


@contextmanager
def pod_identity(folder: Path) -> Iterator[dict[str, str]]:
    """Run the agent until the block ends; yields the environment variables that EKS gives to a pod."""
    token = folder / "pod-token"
    token.write_text(_TOKEN)

    class Agent(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            if self.headers["Authorization"] != _TOKEN:
                self.send_error(HTTPStatus.UNAUTHORIZED)
                return
            ends = datetime.now(UTC) + timedelta(hours=1)
            found = {
                "AccessKeyId": KEY,
                "SecretAccessKey": SECRET,
                "Token": "of the session",
                "Expiration": ends.strftime("%Y-%m-%dT%H:%M:%SZ"),
            }
            body = json.dumps(found).encode()
            self.send_response(HTTPStatus.OK)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, format: str, *args: object) -> None:  # noqa: A002 -- the base class names it
            """Silent."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Agent)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield {
            "AWS_REGION": REGION,
            "AWS_CONTAINER_CREDENTIALS_FULL_URI": f"http://127.0.0.1:{server.server_address[1]}/v1/credentials",
            "AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE": str(token),
        }
    finally:
        server.shutdown()
        server.server_close()
