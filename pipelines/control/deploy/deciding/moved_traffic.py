"""A side that an operator gave traffic during a release: why its code is not replaced or stopped. Pure."""

from msgspec.structs import replace

from pipelines.control.deploy.backend import Weights
from pipelines.control.deploy.deciding.seen import Look
from pipelines.control.deploy.deciding.transitions import moved
from shared.contracts.release_steps import Step
from shared.contracts.releases import Release


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


def noted_by_hand(at: Look) -> Release | None:
    """The release after a look that found traffic on a target which this release has not given any yet.

    It is written down before the traffic is taken away: what the target took has to be processed.
    """
    release = at.release
    if release.opened or release.by_hand or not share_of(at.seen.weights, release.target):
        return None
    return replace(release, by_hand=True)


def held_up(at: Look, side: str, resume: Step) -> Release | None:
    """The release while a side that is to be stopped has traffic, and once it has none any more.

    It then goes back to the step that lets clients leave it.
    """
    if why := why_not_stopped(at, side):
        return replace(
            at.release, said=why, traffic_ms=0, by_hand=at.release.by_hand or side == at.release.faulty
        )
    if at.release.traffic_ms:
        return None
    again = moved(at.release, resume, at.now_ms, f"{side} had traffic by hand")
    return replace(again, traffic_ms=at.now_ms)


def why_not_stopped(at: Look, side: str) -> str:
    """Why the code of a side is not stopped, and what to do; empty if nothing forbids it."""
    share = share_of(at.seen.weights, side)
    if not share:
        return ""
    return (
        f"{side} has {share} % of the traffic, so it is not stopped: set its weight to 0 "
        "(python -m scripts.release.traffic set)"
    )
