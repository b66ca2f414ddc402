"""A receiver of OTLP over HTTP on a real socket, which keeps the spans by trace."""

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest

from tests.harness.http_server import STOP_SECONDS

Span = tuple[str, str, str, str]
"""Service, name, id, parent's id."""


class SpanReceiver:
    """The received spans, by trace."""

    def __init__(self, port: int) -> None:
        self.port = port
        self.status = 200
        self.refused = 0
        self.spans: dict[str, set[Span]] = {}

    def take(self, body: bytes) -> int:
        """Status of the responses."""
        if self.status != 200:
            self.refused += 1
            return self.status
        for of_node in ExportTraceServiceRequest.FromString(body).resource_spans:
            facts = {each.key: each.value.string_value for each in of_node.resource.attributes}
            assert facts["service.namespace"] == "hifi"
            for scope in of_node.scope_spans:
                for span in scope.spans:
                    told = (facts["service.name"], span.name, span.span_id.hex(), span.parent_span_id.hex())
                    self.spans.setdefault(span.trace_id.hex(), set()).add(told)
                    assert 0 < span.start_time_unix_nano <= span.end_time_unix_nano
        return 200


@contextmanager
def listening(receiver: SpanReceiver) -> Iterator[None]:
    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            assert self.path == "/v1/traces"
            status = receiver.take(self.rfile.read(int(self.headers["Content-Length"])))
            self.send_response(status)
            self.send_header("Content-Length", "0")
            self.end_headers()

        def log_message(self, *_: object) -> None:
            """Log nothing."""

    with ThreadingHTTPServer(("127.0.0.1", receiver.port), Handler) as server:
        thread = threading.Thread(target=server.serve_forever, args=(STOP_SECONDS,))
        thread.start()
        try:
            yield
        finally:
            server.shutdown()
            thread.join()
