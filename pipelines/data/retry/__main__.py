"""`python -m pipelines.data.retry`: one member of the group that sends waiting records back to transmit."""

import sys
import threading
from collections.abc import Mapping
from typing import Final

from confluent_kafka import Consumer

from pipelines.data.retry.metrics import RetryMetrics
from pipelines.data.retry.service import RetryService
from pipelines.data.retry.settings import RetrySettings
from pipelines.data.retry.writer import RecordWriter
from shared.kafka.consumer import member_config
from shared.runtime.clock import wall_clock
from shared.runtime.health import health_served
from shared.runtime.logging import configure_logging, get_logger
from shared.runtime.shutdown import stop_event

NODE: Final = "retry"
_STALLED_SECONDS: Final = 10.0


def serve(settings: RetrySettings, stopping: threading.Event) -> None:
    """Run the service with its health and metrics endpoints until stopping.

    Raises:
        OSError: if the port is taken.
        KafkaException: a Kafka client failed for good.
    """
    client, metrics = f"hifi-{settings.side}-{NODE}", RetryMetrics()
    writer = RecordWriter(settings.bootstrap, client, stopping, settings.drain_timeout)
    service = RetryService(
        consumer=Consumer(member_config(settings.bootstrap, client, NODE), logger=get_logger(__name__)),
        writer=writer,
        clock=wall_clock,
        spread=settings.spread,
        metrics=metrics,
        stopping=stopping,
    )

    def report() -> Mapping[str, bool]:
        return {"group": service.joined, "writes": writer.unacknowledged_seconds < _STALLED_SECONDS}

    metrics.ready.set_function(lambda: all(report().values()))
    with health_served(settings.host, settings.port, report, metrics.registry):
        service.run()


def main() -> int:
    """Exit status of the process."""
    configure_logging(NODE)
    serve(RetrySettings(), stop_event())  # type: ignore[call-arg]  # from the environment
    return 0


if __name__ == "__main__":
    sys.exit(main())
