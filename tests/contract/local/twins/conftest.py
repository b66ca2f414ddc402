"""An edge that runs, for the tests of what it does."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.contract.local.twins.running_edge import Running, edge


@pytest.fixture
def running(tmp_path: Path) -> Iterator[Running]:
    with edge(tmp_path) as found:
        yield found
