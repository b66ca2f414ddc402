"""Spans to a receiver of OTLP over HTTP, in the OpenTelemetry SDK's words. The doing."""

from collections.abc import Iterable
from typing import Final

from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.trace import ReadableSpan
from opentelemetry.sdk.trace.export import SpanExportResult
from opentelemetry.trace import SpanContext, SpanKind, Status, StatusCode, TraceFlags

from pipelines.control.trace.spans import Span

_PATH: Final = "/v1/traces"
_KINDS: Final = {"collect": SpanKind.SERVER, "transmit": SpanKind.CLIENT}
_SAMPLED: Final = TraceFlags(TraceFlags.SAMPLED)


class OtlpExporter:
    """A receiver of spans. Headers, such as a key, are OTEL_EXPORTER_OTLP_HEADERS, as the SDK has it."""

    def __init__(self, endpoint: str, side: str, timeout: float) -> None:
        """Nothing is sent yet.

        Args:
            endpoint: base URL; `/v1/traces` comes behind it.
            side: told with each span.
            timeout: seconds that a portion gets to be acknowledged, tries again included.
        """
        self._exporter = OTLPSpanExporter(endpoint.rstrip("/") + _PATH, timeout=timeout)
        self._side = side
        self._resources: dict[str, Resource] = {}

    def export(self, spans: Iterable[Span]) -> bool:
        """Whether the receiver has acknowledged them all."""
        return self._exporter.export([self._readable(span) for span in spans]) is SpanExportResult.SUCCESS

    def close(self) -> None:
        """Give the connection back."""
        self._exporter.shutdown()  # type: ignore[no-untyped-call]

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
        """A node is a service of its own to whoever looks at the trace."""
        facts = {"service.name": node, "service.namespace": "hifi", "hifi.side": self._side}
        return self._resources.setdefault(node, Resource(facts))


def _context(trace_id: str, span_id: str, *, remote: bool) -> SpanContext:
    return SpanContext(int(trace_id, 16), int(span_id, 16), remote, _SAMPLED)
