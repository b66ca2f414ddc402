"""The worker that all connectors' tests share; each module brings `far`, the server that it sends to."""

from collections.abc import Iterator

import pytest

from scripts.local.side import REACH
from tests.contract.connectors.conformance import opened
from tests.contract.connectors.far import Far
from tests.contract.transmit_rig import Rig


@pytest.fixture
def rig(far: Far) -> Iterator[Rig]:
    """A worker with a pipe `p1` to the far side."""
    rig = opened(far, REACH)
    yield rig
    rig.close()
