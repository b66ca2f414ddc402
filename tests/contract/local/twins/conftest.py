"""A running edge for the tests of its behaviour."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.contract.local.twins.running_edge import Running, edge


@pytest.fixture
def running(tmp_path: Path) -> Iterator[Running]:
    with edge(tmp_path) as found:
        yield found
