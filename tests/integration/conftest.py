"""One whole side for all integration tests of a run."""

import sys
from collections.abc import Iterator

import pytest

from scripts.local.side import free_base
from tests.integration.live import LiveSide


@pytest.fixture(scope="session")
def live(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LiveSide]:
    """A side that `hifi up` started and that SIGTERM ends, with nothing left."""
    side = LiveSide(tmp_path_factory.mktemp("side") / "data", free_base())
    try:
        side.up()
        yield side
        assert side.terminate() == 0
        assert not side.processes(), "a process is left"
    finally:
        sys.stdout.write(side.log_tails())
        side.end()
