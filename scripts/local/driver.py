"""All three Spark nodes in one process: what a laptop runs instead of three applications on a cluster."""

import sys

from pipelines.data.ingest.job import build as build_ingest
from pipelines.data.route.job import build as build_route
from pipelines.data.transmit.job import build as build_transmit
from pipelines.data.transmit.job import build_slow as build_transmit_slow
from shared.kafka.application import run_application
from shared.runtime.settings import SparkSettings

if __name__ == "__main__":
    settings = SparkSettings()  # type: ignore[call-arg]  # from the environment
    # The end of the chain first: what comes down it finds somebody there.
    builds = (build_transmit_slow, build_transmit, build_route, build_ingest)
    sys.exit(run_application("spark", settings, builds))
