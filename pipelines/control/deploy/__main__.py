"""`python -m pipelines.control.deploy`: brings versions to two sides, and traffic from one to the other."""

import sys
import time

from pipelines.control.deploy.service import NODE, Deploy
from pipelines.control.deploy.settings import DeploySettings
from shared.runtime.clock import wall_clock
from shared.runtime.logging import configure_logging
from shared.runtime.shutdown import stop_event


def main() -> int:
    """Exit status of the process."""
    configure_logging(NODE)
    settings = DeploySettings()  # type: ignore[call-arg]  # from the environment
    Deploy(settings, wall_clock, time.monotonic).run(stop_event())
    return 0


if __name__ == "__main__":
    sys.exit(main())
