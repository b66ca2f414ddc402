"""`python -m pipelines.control.audit`: the node as a Spark application of its own."""

import sys

from pipelines.control.audit.job import NODE, build
from pipelines.control.audit.settings import AuditSettings
from shared.spark.application import run_application

if __name__ == "__main__":
    settings = AuditSettings()  # type: ignore[call-arg]  # from the environment
    sys.exit(run_application(NODE, settings, (build,)))
