"""Spans sent to a receiver on a real socket, and the meaning of its answers."""

import pytest
from opentelemetry.exporter.otlp.common import http

from pipelines.control.trace.otlp import ExportResult, OtlpExporter
from pipelines.control.trace.spans import Span
from tests.harness.span_receiver import SpanReceiver, listening
from tests.harness.waiting import free_port

SPAN = Span(
    trace_id="4bf92f3577b34da6a3ce929d0e0e4736",
    span_id="00f067aa0ba902b7",
    parent_id=None,
    node="ingest",
    name="ingest",
    begin_ms=1,
    end_ms=2,
    failed=False,
    facts={"hifi.tenant": "acme"},
)


@pytest.mark.parametrize(
    ("status", "result"),
    [
        (200, ExportResult.ACKNOWLEDGED),
        (202, ExportResult.ACKNOWLEDGED),
        (302, ExportResult.UNAVAILABLE),
        (308, ExportResult.UNAVAILABLE),
        (400, ExportResult.REFUSED),
        (413, ExportResult.REFUSED),
        (422, ExportResult.REFUSED),
        (401, ExportResult.UNAVAILABLE),
        (404, ExportResult.UNAVAILABLE),
        (408, ExportResult.UNAVAILABLE),
        (429, ExportResult.UNAVAILABLE),
        (503, ExportResult.UNAVAILABLE),
    ],
)
def test_only_what_is_said_about_the_spans_themselves_is_for_good(
    status: int, result: ExportResult, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(http, "_MAX_RETRIES", 1)
    receiver = SpanReceiver(free_port())
    receiver.status = status
    with listening(receiver):
        exporter = OtlpExporter(f"http://127.0.0.1:{receiver.port}", "test", 60)
        assert exporter.export([SPAN]) is result
        exporter.close()


def test_an_earlier_refusal_says_nothing_of_a_receiver_that_is_gone(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(http, "_MAX_RETRIES", 1)
    receiver = SpanReceiver(free_port())
    receiver.status = 400
    exporter = OtlpExporter(f"http://127.0.0.1:{receiver.port}", "test", 60)
    with listening(receiver):
        assert exporter.export([SPAN]) is ExportResult.REFUSED
    assert exporter.export([SPAN]) is ExportResult.UNAVAILABLE
    exporter.close()
