"""`python -m scripts.experiments.baseline ingest|route|transmit`: one hop until SIGTERM or SIGINT."""

import signal
import sys
import threading
from typing import Literal

from pydantic import Field

from scripts.experiments.baseline.hop import Handler, Hop
from scripts.experiments.baseline.ingest import ingest
from scripts.experiments.baseline.route import Route
from scripts.experiments.baseline.transmit import Transmit
from shared.contracts.topology import INPUTS
from shared.kafka.config_topic import config_table
from shared.runtime.logging import configure_logging
from shared.runtime.settings import SideSettings

HopName = Literal["ingest", "route", "transmit"]
HOPS: tuple[HopName, ...] = ("ingest", "route", "transmit")

_MOST = {
    "ingest": 50,
    "route": 2_000,
    "transmit": 2_000,
}  # records read at once; one of `collected` holds many events


class BaselineSettings(SideSettings):
    """Settings of a baseline hop beside the brokers."""

    config_seconds: float = Field(30.0, description="How long to wait for the config topic, in seconds.")


def handler(name: str, settings: BaselineSettings) -> Handler:
    """The function that a hop applies to its records.

    Raises:
        TimeoutError: if the configuration is not read in time.
    """
    if name == "ingest":
        return ingest
    table = config_table(settings.bootstrap, f"yardstick-{name}-config")
    if not table.wait(settings.config_seconds):
        raise TimeoutError(
            f"the config topic was not read within {settings.config_seconds:g} s: do the brokers answer?"
        )
    return Route(lambda: table.view) if name == "route" else Transmit(lambda: table.view)


def main() -> None:
    """Run the hop that the first argument names."""
    name = sys.argv[1] if len(sys.argv) == 2 else ""
    if name not in HOPS:
        raise SystemExit(f"usage: python -m scripts.experiments.baseline {'|'.join(HOPS)}")
    configure_logging(f"yardstick-{name}")
    stopping = threading.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda *_: stopping.set())
    settings = BaselineSettings()  # type: ignore[call-arg]  # from the environment
    topic = INPUTS[name][0]  # the baseline retries nothing, so its other topics stay empty
    Hop(settings.bootstrap, name, topic, handler(name, settings), _MOST[name]).run(stopping.is_set)


if __name__ == "__main__":
    main()
