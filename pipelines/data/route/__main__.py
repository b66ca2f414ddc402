"""`python -m pipelines.data.route`: the node as a Spark application of its own."""

import sys

from pipelines.data.route.job import NODE, build
from shared.runtime.settings import SparkSettings
from shared.spark.application import run_application

if __name__ == "__main__":
    settings = SparkSettings()  # type: ignore[call-arg]  # from the environment
    sys.exit(run_application(NODE, settings, (build,)))
