"""`python -m pipelines.control.provision`: brings the `config` topic of a side to what customers want."""

import sys
import time

from pipelines.control.provision.service import NODE, Provision
from pipelines.control.provision.settings import ProvisionSettings
from shared.runtime.clock import wall_clock
from shared.runtime.logging import configure_logging
from shared.runtime.shutdown import stop_event


def main() -> int:
    """Exit status of the process."""
    configure_logging(NODE)
    settings = ProvisionSettings()  # type: ignore[call-arg]  # from the environment
    Provision(settings, wall_clock, time.monotonic).run(stop_event())
    return 0


if __name__ == "__main__":
    sys.exit(main())
