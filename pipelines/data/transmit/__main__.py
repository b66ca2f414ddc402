"""`python -m pipelines.data.transmit`: the node as a Spark application of its own."""

import sys

from pipelines.data.transmit.job import NODE, build, build_slow
from pipelines.data.transmit.settings import TransmitSettings
from shared.spark.application import run_application

if __name__ == "__main__":
    settings = TransmitSettings()  # type: ignore[call-arg]  # from the environment
    sys.exit(run_application(NODE, settings, (build_slow, build)))
