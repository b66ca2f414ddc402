"""Two whole sides for all tests of the folder."""

import sys
from collections.abc import Iterator

import pytest

from tests.harness.live_twins import LiveTwins

_ALONE = "test_demo.py"


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Run the demo, which starts its own two sides, before the sides of all other tests start."""
    items.sort(key=lambda item: item.path.name != _ALONE)


@pytest.fixture(scope="session")
def live(tmp_path_factory: pytest.TempPathFactory, pytestconfig: pytest.Config) -> Iterator[LiveTwins]:
    """Twins started by `hifi up --twins`; SIGTERM at the end must leave no process."""
    root = tmp_path_factory.mktemp("twins").absolute() / "data"
    twins = LiveTwins(root, {"HIFI_BAKE_MINUTES": "1"}, pytestconfig.getoption("--load-percent"))
    try:
        twins.up()
        yield twins
        assert twins.terminate() == 0
        assert not twins.processes(), "a process is left"
    finally:
        sys.stdout.write(twins.log_tails())
        twins.end()
