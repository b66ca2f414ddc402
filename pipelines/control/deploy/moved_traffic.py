"""A side that an operator gave traffic during a release: why its code is not replaced or stopped. Pure."""

from pipelines.control.deploy.backend import Weights
from pipelines.control.deploy.seen import Look


def takes_traffic(weights: Weights | None, side: str) -> bool:
    """Whether a side has a share of the traffic."""
    return bool(weights and weights.get(side))


def why_not_started(at: Look) -> str:
    """Why the target's code is not replaced; empty if nothing forbids it.

    No plan gives the target traffic before its code is started: if it has some, an operator moved it.
    """
    side, weights = at.release.target, at.seen.weights
    if at.release.traffic_ms or weights is None or not takes_traffic(weights, side):
        return ""
    return (
        f"{side} was given {weights[side]} % of the traffic by hand: this release ends, and changes neither "
        "its code nor the weights any more"
    )


def why_not_stopped(at: Look, side: str) -> str:
    """Why the code of a side is not stopped, and what to do; empty if nothing forbids it."""
    weights = at.seen.weights
    if weights is None or not takes_traffic(weights, side):
        return ""
    return (
        f"{side} has {weights[side]} % of the traffic, so it is not stopped: set its weight to 0 "
        "(python -m scripts.release.traffic set)"
    )
