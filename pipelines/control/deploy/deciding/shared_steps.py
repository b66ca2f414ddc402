"""The release after a step that is taken both forward and on the way back, given what a look found. Pure."""

from msgspec.structs import replace

from pipelines.control.deploy.backend import Remains
from pipelines.control.deploy.deciding.moved_traffic import held_up
from pipelines.control.deploy.deciding.preflight import shares
from pipelines.control.deploy.deciding.seen import Look
from pipelines.control.deploy.deciding.transitions import moved
from pipelines.control.deploy.judging import sufficiency
from pipelines.control.deploy.policy import keeps_retries, percent, pinned
from shared.contracts.release_steps import Step
from shared.contracts.releases import Release


def waiting_for(at: Look) -> str:
    """Programs of the side that was started, in words."""
    found = at.seen.readiness
    return ", ".join(found.waiting_for if found else ()) or "its programs"


def after_start(at: Look, side: str, version: str) -> Release:
    """Over once a side runs a version."""
    found = at.seen.deployed.get(side)
    if found is not None and found.version == version and not found.parked:
        return at.onward(f"{version} on {side}")
    return replace(at.release, said=f"waiting for {waiting_for(at)}")


def after_ready(at: Look) -> Release:
    """Over once the side that was started could take traffic."""
    found = at.seen.readiness
    if found is None:
        return at.release
    if found.ready:
        return at.onward("every program is ready")
    return replace(at.release, said=f"waiting for {waiting_for(at)}")


def after_traffic(at: Look) -> Release:
    """Over once the traffic is shared as the step wants it."""
    found, pins = at.seen.weights, pinned(at.release)
    if found is None and at.seen.readiness is not None and not at.seen.readiness.ready:
        return replace(at.release, said=f"{at.release.target} is not ready: waiting for {waiting_for(at)}")
    if found is None or found.get(at.release.target) != percent(at.release, at.policy):
        return at.release
    if dict(at.seen.pinned) != pins:
        return at.release
    said = f"{', '.join(pins)} on {at.release.target}" if pins else shares(found)
    return replace(at.onward(said), traffic_ms=at.now_ms)


def after_drain(at: Look) -> Release:
    """Over once clients have left a side and it has nothing unread."""
    if at.seen.remains is None or not clients_had_time(at):
        return at.release
    if left := _left(at, at.seen.remains):
        return replace(at.release, said=f"left: {'; '.join(left)}")
    if at.seen.dead_letters is None:
        return replace(at.release, said="nothing unread; its dead letters are being counted")
    return at.onward(sufficiency.outcome_in_words(at.seen.remains, at.seen.dead_letters))


def _left(at: Look, remains: Remains) -> list[str]:
    return sufficiency.left(remains, retries=keeps_retries(at.release, at.policy, at.now_ms))


def clients_had_time(at: Look) -> bool:
    """Whether clients had their time to leave a side since its share became 0."""
    return at.now_ms - at.release.traffic_ms >= 1_000 * at.policy.linger_seconds


def after_park(at: Look, side: str, resume: Step, drained: str) -> Release:
    """Over if nothing came to a side while it was parked; else it goes back to the step that processes it.

    A side that could not process what it has is parked with it.

    Args:
        at: the look.
        side: that is parked.
        resume: the step.
        drained: what that step had done, in words.
    """
    if (held := held_up(at, side, resume)) is not None:
        return held
    if at.release.unfinished:
        return at.onward(f"{side} is parked") if is_parked(at, side) else at.release
    if at.seen.remains is None:
        return at.release
    if came := _left(at, at.seen.remains):
        return moved(at.release, resume, at.now_ms, f"since {side} had {drained} came: {'; '.join(came)}")
    return at.onward(f"{side} is parked") if is_parked(at, side) else at.release


def is_parked(at: Look, side: str) -> bool:
    """Whether a look found a side parked."""
    found = at.seen.deployed.get(side)
    return found is not None and found.parked
