"""What tests of transmit begin with."""

from collections.abc import Iterator

import pytest

from tests.contract.transmit_rig import Rig


@pytest.fixture
def rig() -> Iterator[Rig]:
    """A worker of its own, and a destination that answers as the test says."""
    fresh = Rig()
    yield fresh
    fresh.close()
