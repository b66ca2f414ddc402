"""`python -m pipelines.data.retry`: one member of the group that brings waiting records back."""

import sys
import threading
from collections.abc import Mapping
from typing import Final

from confluent_kafka import Consumer

from pipelines.data.retry.metrics import Meters
from pipelines.data.retry.service import Retrier
from pipelines.data.retry.settings import RetrySettings
from pipelines.data.retry.writer import Writer
from shared.kafka.consumer import member_config
from shared.runtime.clock import wall_clock
from shared.runtime.health import health_served
from shared.runtime.logging import configure_logging, get_logger
from shared.runtime.shutdown import stop_event

NODE: Final = "retry"
_STALLED_SECONDS: Final = 10.0


def serve(settings: RetrySettings, stopping: threading.Event) -> None:
    """Bring records back until stopping.

    Raises:
        OSError: if the port is taken.
        KafkaException: if a client cannot go on.
    """
    client, meters = f"hifi-{settings.side}-{NODE}", Meters()
    writer = Writer(settings.bootstrap, client, stopping, settings.drain_timeout)
    retrier = Retrier(
        consumer=Consumer(member_config(settings.bootstrap, client, NODE), logger=get_logger(__name__)),
        writer=writer,
        clock=wall_clock,
        spread=settings.spread,
        meters=meters,
        stopping=stopping,
    )

    def report() -> Mapping[str, bool]:
        return {"group": retrier.joined, "writes": writer.waited < _STALLED_SECONDS}

    meters.ready.set_function(lambda: all(report().values()))
    with health_served(settings.host, settings.port, report, meters.registry):
        retrier.run()


def main() -> int:
    """Exit status of the process."""
    configure_logging(NODE)
    serve(RetrySettings(), stop_event())  # type: ignore[call-arg]  # from the environment
    return 0


if __name__ == "__main__":
    sys.exit(main())
