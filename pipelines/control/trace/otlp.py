"""Exports spans by OTLP over HTTP, with the OpenTelemetry SDK."""

from collections.abc import Iterable
from enum import Enum, auto
from typing import Final

import requests
from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.trace import ReadableSpan
from opentelemetry.sdk.trace.export import SpanExportResult
from opentelemetry.trace import SpanContext, SpanKind, Status, StatusCode, TraceFlags

from pipelines.control.trace.spans import Span
from shared.runtime.logging import get_logger

_log = get_logger(__name__)
_PATH: Final = "/v1/traces"
_REFUSED: Final = frozenset((400, 413, 422))
"""Statuses about the spans themselves. A wrong key (401, 403) or address (404) lasts until it is corrected:
what waits for that is not lost."""

_FIRST_REDIRECT: Final = 300

_KINDS: Final = {"collect": SpanKind.SERVER, "transmit": SpanKind.CLIENT}
_SAMPLED: Final = TraceFlags(TraceFlags.SAMPLED)


class ExportResult(Enum):
    """The result of sending spans to the receiver."""

    ACKNOWLEDGED = auto()
    REFUSED = auto()
    """The receiver will never take these."""

    UNAVAILABLE = auto()
    """It takes none now."""


class OtlpExporter:
    """Exports to one receiver. The SDK takes headers, such as a key, from OTEL_EXPORTER_OTLP_HEADERS."""

    def __init__(self, endpoint: str, side: str, timeout: float) -> None:
        """Prepare the exporter; nothing is sent yet.

        Args:
            endpoint: base URL; `/v1/traces` is appended.
            side: the side's name, an attribute of each span.
            timeout: seconds for a batch to be acknowledged, retries included.
        """
        session = requests.Session()
        session.hooks["response"].append(self._note)  # the SDK keeps the status to itself
        self._status: int | None = None
        self._exporter = OTLPSpanExporter(endpoint.rstrip("/") + _PATH, timeout=timeout, session=session)
        self._side = side
        self._resources: dict[str, Resource] = {}

    def export(self, spans: Iterable[Span]) -> ExportResult:
        """Send spans, all in one request."""
        self._status = None
        if self._exporter.export([self._readable(span) for span in spans]) is SpanExportResult.SUCCESS:
            return self._taken()
        return ExportResult.REFUSED if self._status in _REFUSED else ExportResult.UNAVAILABLE

    def close(self) -> None:
        """Close the connection."""
        self._exporter.shutdown()  # type: ignore[no-untyped-call]

    def _taken(self) -> ExportResult:
        """The SDK follows no redirect, yet calls it a success: such a receiver has not taken the spans."""
        if self._status is not None and self._status < _FIRST_REDIRECT:
            return ExportResult.ACKNOWLEDGED
        _log.warning(
            "spans not exported: the receiver redirects; set HIFI_OTLP_ENDPOINT to the address it leads to",
            extra={"status": self._status},
        )
        return ExportResult.UNAVAILABLE

    def _note(self, response: requests.Response, *_: object, **__: object) -> None:
        self._status = response.status_code

    def _readable(self, span: Span) -> ReadableSpan:
        return ReadableSpan(
            name=span.name,
            context=_context(span.trace_id, span.span_id, remote=False),
            parent=(span.parent_id and _context(span.trace_id, span.parent_id, remote=True)) or None,
            resource=self._resource(span.node),
            attributes=span.facts,
            kind=_KINDS.get(span.node, SpanKind.INTERNAL),
            status=Status(StatusCode.ERROR if span.failed else StatusCode.UNSET),
            start_time=span.begin_ms * 1_000_000,
            end_time=span.end_ms * 1_000_000,
        )

    def _resource(self, node: str) -> Resource:
        """The resource of a node: each node is a service in the trace."""
        facts = {"service.name": node, "service.namespace": "hifi", "hifi.side": self._side}
        return self._resources.setdefault(node, Resource(facts))


def _context(trace_id: str, span_id: str, *, remote: bool) -> SpanContext:
    return SpanContext(int(trace_id, 16), int(span_id, 16), remote, _SAMPLED)
