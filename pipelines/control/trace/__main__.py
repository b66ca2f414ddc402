"""`python -m pipelines.control.trace`: one member of the group that exports traces."""

import sys
import threading
from collections.abc import Mapping
from typing import Final

from confluent_kafka import Consumer

from pipelines.control.trace.metrics import TraceMetrics
from pipelines.control.trace.otlp import OtlpExporter
from pipelines.control.trace.service import TraceService
from pipelines.control.trace.settings import TraceSettings
from pipelines.control.trace.span_buffer import SpanBuffer
from shared.kafka.consumer import member_config
from shared.runtime.clock import wall_clock
from shared.runtime.health import health_served
from shared.runtime.logging import configure_logging, get_logger
from shared.runtime.shutdown import stop_event

NODE: Final = "trace"


def serve(settings: TraceSettings, stopping: threading.Event) -> None:
    """Export traces until stopping.

    Raises:
        OSError: if the port is taken.
        KafkaException: if the client cannot go on.
    """
    client, metrics = f"hifi-{settings.side}-{NODE}", TraceMetrics()
    tracer = TraceService(
        consumer=Consumer(member_config(settings.bootstrap, client, NODE), logger=get_logger(__name__)),
        exporter=OtlpExporter(settings.otlp_endpoint, settings.side, settings.export_timeout),
        buffer=SpanBuffer(int(settings.hold_seconds * 1000)),
        clock=wall_clock,
        metrics=metrics,
        stopping=stopping,
    )

    def report() -> Mapping[str, bool]:
        return {"group": tracer.joined, "exports": tracer.acknowledged}

    metrics.ready.set_function(lambda: all(report().values()))
    with health_served(settings.host, settings.port, report, metrics.registry):
        tracer.run()


def main() -> int:
    """Exit status of the process."""
    configure_logging(NODE)
    serve(TraceSettings(), stop_event())  # type: ignore[call-arg]  # from the environment
    return 0


if __name__ == "__main__":
    sys.exit(main())
