"""One whole side for all integration tests of a run, and the work that goes on there meanwhile."""

import sys
from collections.abc import Iterator
from typing import Final

import pytest

from tests.harness.live_side import LiveSide
from tests.harness.meter_processes import Meter
from tests.harness.span_receiver import SpanReceiver, listening
from tests.harness.waiting import free_port
from tests.integration.counted_load import CountedLoad, counted_load
from tests.integration.held_event import HeldEvent, held_event
from tests.integration.traced_events import TracedEvents, sent_events

NO_PROXY_THERE: Final = "http://127.0.0.1:9"
"""A side calls its own parts directly; through this proxy nothing could be reached."""

SOON_READY: Final = ("--warm-up", "5")
"""For `make test`, where no test measures a side that has just started."""

LOOKS_OFTEN: Final = {"HIFI_LOOK_SECONDS": "1"}
"""For `make test`, where observe has few events to read."""


@pytest.fixture(scope="session")
def spans() -> Iterator[SpanReceiver]:
    """The receiver of the side's traces."""
    receiver = SpanReceiver(free_port())
    with listening(receiver):
        yield receiver


@pytest.fixture(scope="session")
def live(
    tmp_path_factory: pytest.TempPathFactory, spans: SpanReceiver, pytestconfig: pytest.Config
) -> Iterator[LiveSide]:
    """A side started by `hifi up` with a missing proxy; SIGTERM at the end must leave no process."""
    environment = {"HIFI_OTLP_ENDPOINT": f"http://127.0.0.1:{spans.port}", "HTTP_PROXY": NO_PROXY_THERE}
    folder = tmp_path_factory.mktemp("side")
    if pytestconfig.getoption("--tier") == "test":
        side = LiveSide.fresh(folder, *SOON_READY, **environment, **LOOKS_OFTEN)
    else:
        side = LiveSide.fresh(folder, **environment)
    try:
        side.up()
        yield side
        assert side.terminate() == 0
        assert not side.processes(), "a process is left"
    finally:
        sys.stdout.write(side.log_tails())
        side.end()


@pytest.fixture
def meter(live: LiveSide) -> Meter:
    return Meter(live.side.observe_port)


@pytest.fixture(scope="session")
def held(live: LiveSide) -> Iterator[HeldEvent]:
    """An event that has waited for its second attempt since a test first requested it."""
    with held_event(live) as found:
        yield found


@pytest.fixture(scope="session")
def counted(live: LiveSide, tmp_path_factory: pytest.TempPathFactory) -> CountedLoad:
    """A load that arrived when a test first requested it, after the side was killed and started."""
    return counted_load(live, tmp_path_factory.mktemp("counted"), rate=100, seconds=5)


@pytest.fixture(scope="session")
def traced(live: LiveSide) -> TracedEvents:
    """Events that arrived when a test first requested them; their spans take some seconds longer."""
    return sent_events(live)
