"""The number of ports that twins need, for tests that start some on free ones."""

from pathlib import Path
from typing import Final

from scripts.local.addresses import PORTS
from scripts.local.twins.place import Twins

_TWINS: Final = Twins(root=Path("unused"))

TWINS_PORTS: Final = max(side.port for side in _TWINS.sides) + PORTS - _TWINS.port
"""Number of ports from the first to the last one of twins; some between are not used."""
