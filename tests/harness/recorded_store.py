"""DynamoDB behind a proxy that records what is asked of it, and may lose answers."""

import http.client
import json
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler
from typing import Any
from urllib.parse import urlsplit

from tests.harness.http_server import QuietHandler, http_served

Asked = tuple[str, str]
"""An operation, and the partition that it is about; empty if it names none or several."""


class RecordedStore:
    """The proxy's address, and the requests since the record was last taken."""

    def __init__(self, url: str) -> None:
        self.url = url
        self._asked: list[Asked] = []
        self.loses: list[str] = []
        """Operations; the next answer to each is lost, after the store has done what was asked."""

    def lost(self, target: str) -> bool:
        """Whether the answer to a request is lost, which is over with this."""
        operation = target.rpartition(".")[2]
        if operation not in self.loses:
            return False
        self.loses.remove(operation)
        return True

    def note(self, target: str, body: bytes) -> None:
        """Record a request."""
        fields: dict[str, Any] = json.loads(body)
        keys = fields.get("Key") or fields.get("Item") or fields.get("ExpressionAttributeValues") or {}
        partitions = [value["S"] for name, value in keys.items() if name in ("tenant", ":p")]
        self._asked.append((target.rpartition(".")[2], partitions[0] if len(partitions) == 1 else ""))

    def taken(self) -> list[Asked]:
        """The record so far, which begins anew."""
        found, self._asked = self._asked, []
        return found


@contextmanager
def recorded_store(endpoint: str) -> Iterator[RecordedStore]:
    """Forward to a store until the block ends."""
    behind = urlsplit(endpoint)

    class Handler(QuietHandler, BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["Content-Length"]))
            store.note(self.headers["X-Amz-Target"], body)
            connection = http.client.HTTPConnection(behind.hostname or "", behind.port, timeout=60)
            try:
                connection.request("POST", self.path, body, dict(self.headers.items()))
                answer = connection.getresponse()
                content = answer.read()
            finally:
                connection.close()
            if store.lost(self.headers["X-Amz-Target"]):
                self.close_connection = True
                return
            self.send_response(answer.status)
            for name, value in answer.getheaders():
                if name.lower() not in ("connection", "content-length", "date", "server"):
                    self.send_header(name, value)
            self.send_header("Content-Length", str(len(content)))
            self.end_headers()
            self.wfile.write(content)

    with http_served(Handler) as url:
        store = RecordedStore(url)
        yield store
