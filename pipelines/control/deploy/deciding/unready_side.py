"""A side that is not ready: since when, and what becomes of it if it never is. Pure."""

from typing import Final

from msgspec.structs import replace

from pipelines.control.deploy.backend import Readiness
from pipelines.control.deploy.deciding.seen import Look
from pipelines.control.deploy.deciding.shared_steps import clients_had_time, waiting_for
from pipelines.control.deploy.deciding.transitions import moved
from shared.contracts.diamond.permission import NOT_STABLE
from shared.contracts.diamond.stability import SILENT
from shared.contracts.release_steps import Step
from shared.contracts.releases import Release

_RESTART_MS: Final = 60_000


def with_readiness(at: Look) -> Release:
    """The release with the time since which the side that the step looks at has been found not ready."""
    readiness = at.seen.readiness
    if readiness is None or readiness.ready:
        return replace(at.release, unready_ms=0)
    return replace(at.release, unready_ms=at.release.unready_ms or at.now_ms)


def unready_if_silent(at: Look) -> Look:
    """The look, with a side that does not count as ready if nothing is known of its health."""
    readiness = at.seen.readiness
    if not at.seen.silent or (readiness is not None and not readiness.ready):
        return at
    return replace(at, seen=replace(at.seen, readiness=Readiness(ready=False, waiting_for=SILENT.reasons)))


def drained_again(at: Look) -> Release | None:
    """The release back in the step that starts a side again and gives it up; None if that does not help.

    A side that waits to be parked for nothing but its own health, and does not run, would wait for ever.
    """
    release, readiness = at.release, unready_if_silent(at).seen.readiness
    own = f"{release.former}: {NOT_STABLE}"
    if release.step is not Step.PARK or not all(each.startswith(own) for each in release.waits):
        return None
    if readiness is None or readiness.ready:
        return None
    return moved(release, Step.DRAIN, at.now_ms, "; ".join(release.waits))


def unready_too_long(at: Look) -> str:
    """Why the version with all the traffic does not serve; empty while it does, or may yet.

    One that takes no events cannot be found bad by its minutes before the other side is parked.
    """
    if at.release.step is not Step.BAKE or not at.release.unready_ms:
        return ""
    late = at.now_ms - at.release.unready_ms > 1_000 * at.policy.release_wait_seconds
    return unready_in_words(at) if late else ""


def unready_in_words(at: Look) -> str:
    """The target that is not ready, and what it waits for."""
    return f"{at.release.version} is not ready on {at.release.target}: waiting for {waiting_for(at)}"


def silent_too_long(at: Look) -> bool:
    """Whether nothing has been known of a side's health for longer than a restart of its observe takes."""
    return bool(at.release.unready_ms) and at.now_ms - at.release.unready_ms >= _RESTART_MS


def with_silence(at: Look) -> Look:
    """The look, with the time since which nothing has been known of the health of the side that it asks."""
    since_ms = (at.release.unready_ms or at.now_ms) if at.seen.silent else 0
    return replace(at, release=replace(at.release, unready_ms=since_ms))


def had_its_time(at: Look, since_ms: int) -> bool:
    """Whether a start has had its time; `since_ms` in epoch milliseconds."""
    return at.now_ms - since_ms > 1_000 * at.policy.ready_seconds


def given_up(at: Look) -> bool:
    """Whether the side that the step looks at has not been ready for as long as a start may take.

    Not while clients may still send to it: they would be refused.
    """
    since_ms = with_readiness(at).unready_ms
    return bool(since_ms) and had_its_time(at, since_ms) and clients_had_time(at)


def left_as_it_is(at: Look, side: str, version: str, park: Step) -> Release:
    """Parked with what it has not processed: a release without an end would keep all others away.

    Args:
        at: the look.
        side: that is not ready.
        version: that it was to run.
        park: the step that parks it.
    """
    why = (
        f"{version} was not ready on {side} within {at.policy.ready_seconds:,} s ({waiting_for(at)}): what "
        f"{side} has not processed stays in its topics; `hifi deploy VERSION` starts one there that goes on"
    )
    return moved(replace(at.release, unfinished=why), park, at.now_ms, why)
