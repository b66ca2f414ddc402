"""`python -m pipelines.data.route`: the node as a Spark application of its own."""

import sys

from pipelines.data.route.job import NODE, build
from shared.runtime.node import run_node
from shared.runtime.settings import SparkSettings

if __name__ == "__main__":
    sys.exit(run_node(NODE, SparkSettings(), build))  # type: ignore[call-arg]  # from the environment
