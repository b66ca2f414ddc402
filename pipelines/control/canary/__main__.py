"""`python -m pipelines.control.canary`: a few events a second through the whole chain, to itself."""

import asyncio
import sys

import uvloop

from pipelines.control.canary.service import NODE, Canary
from pipelines.control.canary.settings import CanarySettings
from shared.runtime.clock import Clock, wall_clock
from shared.runtime.logging import configure_logging
from shared.runtime.shutdown import STOP_SIGNALS


async def serve(settings: CanarySettings, clock: Clock) -> None:
    """Run until SIGTERM or SIGINT.

    Raises:
        OSError: if the port is taken.
    """
    stopping, loop = asyncio.Event(), asyncio.get_running_loop()
    for number in STOP_SIGNALS:
        loop.add_signal_handler(number, stopping.set)
    await Canary(settings, clock).run(stopping)


def main() -> int:
    """Exit status of the process."""
    configure_logging(NODE)
    uvloop.run(serve(CanarySettings(), wall_clock))  # type: ignore[call-arg]  # from the environment
    return 0


if __name__ == "__main__":
    sys.exit(main())
