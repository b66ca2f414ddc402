"""All Spark nodes in one process; on a cluster each is an application of its own.

`python -m scripts.local.processes.driver NODE ...` starts these nodes in this order.
"""

import sys
import threading
from typing import Final

from confluent_kafka import KafkaException

from pipelines.control.audit.job import build as build_audit
from pipelines.data.ingest.job import build as build_ingest
from pipelines.data.route.job import build as build_route
from pipelines.data.transmit.job import build as build_transmit
from pipelines.data.transmit.job import build_slow as build_transmit_slow
from shared.contracts.topics import Topic
from shared.kafka.admin import admin_client, without_leader
from shared.runtime.settings import SparkSettings
from shared.spark.application import run_application

_BUILDS: Final = {
    "transmit_slow": build_transmit_slow,
    "transmit": build_transmit,
    "route": build_route,
    "ingest": build_ingest,
    "audit": build_audit,
}

_LOOK_SECONDS: Final = 0.2


def _wait_for_topics(stopping: threading.Event) -> None:
    """Return once each topic has its leaders, or when the driver is to stop.

    Starting Spark takes as long as starting the brokers, so on a local side both start at the same time.
    """
    admin = admin_client(settings.bootstrap)
    while not stopping.is_set():
        try:
            if not without_leader(admin, Topic):
                return
        except KafkaException:  # no broker answers yet
            pass
        stopping.wait(_LOOK_SECONDS)


if __name__ == "__main__":
    settings = SparkSettings()  # type: ignore[call-arg]  # from the environment
    sys.exit(run_application("spark", settings, [_BUILDS[node] for node in sys.argv[1:]], _wait_for_topics))
