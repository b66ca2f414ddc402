"""How stable a side is, as far as that is known."""

from typing import Final

from pipelines.control.deploy.backend import Backend, BackendError
from shared.contracts.diamond.stability import SILENT, Stability

CALM: Final = Stability(stable=True)
"""The health of a side if it is not asked for, or if the side runs nothing that could be unstable."""


def known_health(backend: Backend, side: str, since: int = 0) -> Stability:
    """A side's health: CALM if it is parked, SILENT if it does not answer. Raises nothing.

    What happened before the epoch minute `since` does not count; 0 for all.
    """
    try:
        parked = backend.deployed(side).parked
    except BackendError:
        return SILENT
    return CALM if parked else backend.stability(side, since)
