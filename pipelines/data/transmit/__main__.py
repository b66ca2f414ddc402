"""`python -m pipelines.data.transmit`: the node as a Spark application of its own."""

import sys

from pipelines.data.transmit.job import NODE, build
from pipelines.data.transmit.settings import TransmitSettings
from shared.runtime.node import run_node

if __name__ == "__main__":
    sys.exit(run_node(NODE, TransmitSettings(), build))  # type: ignore[call-arg]  # from the environment
