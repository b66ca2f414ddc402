"""A side that an operator gave traffic during a release: why its code is not replaced or stopped. Pure."""

from pipelines.control.deploy.backend import Weights
from pipelines.control.deploy.seen import Look


def share_of(weights: Weights | None, side: str) -> int:
    """A side's share of the traffic, percent; 0 too if the weights were not read."""
    return (weights or {}).get(side, 0)


def why_not_started(at: Look) -> str:
    """Why the target's code is not replaced; empty if nothing forbids it.

    No plan gives the target traffic before its code is started: if it has some, an operator moved it.
    """
    side = at.release.target
    share = share_of(at.seen.weights, side)
    if at.release.traffic_ms or not share:
        return ""
    return (
        f"{side} was given {share} % of the traffic by hand: this release ends, and changes neither "
        "its code nor the weights any more"
    )


def why_not_stopped(at: Look, side: str) -> str:
    """Why the code of a side is not stopped, and what to do; empty if nothing forbids it."""
    share = share_of(at.seen.weights, side)
    if not share:
        return ""
    return (
        f"{side} has {share} % of the traffic, so it is not stopped: set its weight to 0 "
        "(python -m scripts.release.traffic set)"
    )
