"""The release after each of its steps, given what a look found. Pure."""

from collections.abc import Callable, Mapping
from typing import Final

from msgspec.structs import replace

from pipelines.control.deploy.deciding.moved_traffic import why_not_started
from pipelines.control.deploy.deciding.preflight import after_preflight
from pipelines.control.deploy.deciding.seen import Look
from pipelines.control.deploy.deciding.shared_steps import (
    after_drain,
    after_park,
    after_ready,
    after_start,
    after_traffic,
    waiting_for,
)
from pipelines.control.deploy.deciding.steps_back import STEPS_BACK
from pipelines.control.deploy.deciding.transitions import ended_as_is, moved, undone
from pipelines.control.deploy.deciding.unready_side import (
    given_up,
    left_as_it_is,
    silent_too_long,
    unready_if_silent,
    unready_in_words,
    with_readiness,
    with_silence,
)
from pipelines.control.deploy.judging import sufficiency
from shared.contracts.envelope import MINUTE_MS
from shared.contracts.release_steps import Step
from shared.contracts.releases import Finding, Release


def after_step(at: Look) -> Release:
    """The release after a look at its present step; the same if that is not over and says nothing new."""
    return _STEPS[at.release.step](at)


def _snapshot(at: Look) -> Release:
    found, remains = at.seen.positions, at.seen.remains
    if found is None or remains is None:
        return at.release
    said = f"positions of {len(found.queries)} queries and {len(found.groups)} groups"
    left = sufficiency.left(remains, retries=True)
    said = "; ".join((said, *(f"left there: {each}" for each in left)))
    return replace(at.onward(said), snapshot=found, leftovers=bool(left))


def _start(at: Look) -> Release:
    if why := why_not_started(at):
        return ended_as_is(at.release, why, at.now_ms)
    return after_start(at, at.release.target, at.release.version)


def _ready_again(at: Look) -> Release | None:
    """The release back in the step that starts its target, if that does not run any more; None if it does.

    The place may have been started again, with what has traffic only.
    """
    found = at.seen.deployed.get(at.release.target)
    if found is None or not found.parked:
        return None
    return moved(at.release, Step.READY, at.now_ms, f"{at.release.target} does not run any more")


def _prove(at: Look) -> Release:
    """Wait for the events for proof; missing ones may still arrive, as the chain is cold at first."""
    if (again := _ready_again(at)) is not None:
        return again
    proof, wanted = at.seen.proof, at.policy.proof_events
    said = sufficiency.so_far(proof, wanted)
    proven = proof is not None and proof.arrived >= wanted and not proof.missing
    return at.onward(said) if proven else replace(at.release, said=said)


def _load_test(at: Look) -> Release:
    rating = at.seen.rating
    if not at.policy.rating_days:
        return at.onward("left out by setting")
    if (again := _ready_again(at)) is not None:
        return again
    if rating is None or sufficiency.old(rating, at.release.version, at.policy.rating_days, at.now_ms):
        return replace(at.release, said="under way")
    weaker = sufficiency.weaker(rating, at.seen.former_rating, at.policy.least_rating)
    return undone(at.release, weaker, at.now_ms) if weaker else at.onward(sufficiency.words(rating))


def _watch(at: Look) -> Release:
    verdict = at.release.verdicts[-1]
    said = "; ".join(verdict.words)
    return at.onward(said) if verdict.finding is Finding.GOOD else replace(at.release, said=said)


def _warm(at: Look) -> Release:
    """End by time, or at once if the side that traffic leaves does badly: a cold side harms less than that.

    The version has served already, so a little traffic is enough. A bad verdict can come at any time. One
    question without an answer says nothing of the side: its observe may just be restarted.
    """
    at = with_silence(at)
    said = "; ".join(at.release.verdicts[-1].words)
    if at.seen.trouble or silent_too_long(at):
        said = f"{at.release.former} is not stable, so traffic leaves it at once; {said}"
        return replace(at.onward(said), hurried=True)
    over = at.now_ms - at.release.since_ms >= 1_000 * at.policy.switch_seconds
    return at.onward(said) if over else replace(at.release, said=said)


def _bake(at: Look) -> Release:
    """End by time once the target is ready, even with little traffic: a bad verdict can come at any time."""
    if at.release.unready_ms:
        return replace(at.release, said=unready_in_words(at))
    said = "; ".join(at.release.verdicts[-1].words)
    over = at.now_ms - at.release.since_ms >= at.policy.bake_minutes * MINUTE_MS
    return at.onward(said) if over else replace(at.release, said=said)


def _drain(at: Look) -> Release:
    """Over once nothing is left. The version that was replaced may be broken, and never process the rest.

    A side with a silent observe is started again, and given up, even if nothing is left: before it is parked
    it has to be known whether its losses are settled.
    """
    after = after_drain(at)
    drained = after.step is not Step.DRAIN
    if drained and not at.seen.silent:
        return replace(after, unready_ms=0, unfinished="")
    at = unready_if_silent(at) if drained else at
    if given_up(at):
        return left_as_it_is(at, at.release.former, at.release.former_version, Step.PARK)
    noted = with_readiness(at)
    if noted.unready_ms:
        return replace(noted, said=f"{at.release.former} is not ready: waiting for {waiting_for(at)}")
    return replace(after, unready_ms=0)


def _park(at: Look) -> Release:
    return after_park(at, at.release.former, Step.DRAIN, "drained")


_STEPS: Final[Mapping[Step, Callable[[Look], Release]]] = {
    Step.PREFLIGHT: after_preflight,
    Step.SNAPSHOT: _snapshot,
    Step.START: _start,
    Step.READY: after_ready,
    Step.PROVE: _prove,
    Step.LOAD_TEST: _load_test,
    Step.CANARY: after_traffic,
    Step.WATCH: _watch,
    Step.HALF: after_traffic,
    Step.WATCH_HALF: _watch,
    Step.WARM: _warm,
    Step.WARM_HALF: _warm,
    Step.BOTH: after_traffic,
    Step.ALL: after_traffic,
    Step.BAKE: _bake,
    Step.DRAIN: _drain,
    Step.PARK: _park,
    **STEPS_BACK,
}
