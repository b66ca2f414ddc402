"""All Spark nodes in one process; on a cluster each is an application of its own.

`python -m scripts.local.processes.driver NODE ...` starts these nodes in this order.
"""

import sys
from typing import Final

from pipelines.control.audit.job import build as build_audit
from pipelines.data.ingest.job import build as build_ingest
from pipelines.data.route.job import build as build_route
from pipelines.data.transmit.job import build as build_transmit
from pipelines.data.transmit.job import build_slow as build_transmit_slow
from shared.runtime.settings import SparkSettings
from shared.spark.application import run_application

_BUILDS: Final = {
    "transmit_slow": build_transmit_slow,
    "transmit": build_transmit,
    "route": build_route,
    "ingest": build_ingest,
    "audit": build_audit,
}

if __name__ == "__main__":
    settings = SparkSettings()  # type: ignore[call-arg]  # from the environment
    sys.exit(run_application("spark", settings, [_BUILDS[node] for node in sys.argv[1:]]))
