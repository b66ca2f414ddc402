"""`python -m pipelines.control.observe`: reads the ledger, judges minutes, serves the API, raises alarms."""

import sys
from typing import Final

from pipelines.control.observe.service import Observe
from pipelines.control.observe.settings import ObserveSettings
from shared.runtime.logging import configure_logging
from shared.runtime.shutdown import stop_event

NODE: Final = "observe"


def main() -> int:
    """Exit status of the process."""
    configure_logging(NODE)
    Observe(ObserveSettings(), stop_event()).run()  # type: ignore[call-arg]  # from the environment
    return 0


if __name__ == "__main__":
    sys.exit(main())
