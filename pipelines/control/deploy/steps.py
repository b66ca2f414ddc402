"""What comes after each step of a release, given what a look found. Pure."""

from collections.abc import Callable, Mapping
from typing import Final

from msgspec.structs import replace

from pipelines.control.deploy import sufficiency
from pipelines.control.deploy.judgement import to_replay
from pipelines.control.deploy.moved_traffic import why_not_started, why_not_stopped
from pipelines.control.deploy.policy import percent, pinned
from pipelines.control.deploy.preflight import after_preflight, shares
from pipelines.control.deploy.seen import Look
from pipelines.control.deploy.traffic_minutes import last_minute
from pipelines.control.deploy.transitions import ended_as_is, moved, undone
from shared.contracts.envelope import MINUTE_MS
from shared.contracts.release_steps import Step
from shared.contracts.releases import Finding, Release

_POSITIONS_MS: Final = 120_000
"""A side that cannot say for so long where it stands is set back to its snapshot."""

_DOWN_MS: Final = 60_000
"""A version that has not run for so long says no more of its events."""


def after_step(at: Look) -> Release:
    """The release after a look at its present step; the same if that is not over and says nothing new."""
    return _STEPS[at.release.step](at)


def _snapshot(at: Look) -> Release:
    found = at.seen.positions
    if found is None:
        return at.release
    said = f"positions of {len(found.queries)} queries and {len(found.groups)} groups"
    return replace(at.onward(said), snapshot=found)


def _runs(at: Look, side: str, version: str) -> Release:
    found = at.seen.deployed.get(side)
    if found is not None and found.version == version and not found.parked:
        return at.onward(f"{version} on {side}")
    return replace(at.release, said=f"waiting for {_waiting_for(at)}")


def _start(at: Look) -> Release:
    if why := why_not_started(at):
        return ended_as_is(at.release, why, at.now_ms)
    return _runs(at, at.release.target, at.release.version)


def _waiting_for(at: Look) -> str:
    found = at.seen.readiness
    return ", ".join(found.waiting_for if found else ()) or "its programs"


def _restart(at: Look) -> Release:
    after = _runs(at, at.release.faulty, at.release.good_version)
    waits = after.step is Step.RESTART and _is_over(at, at.release.since_ms)
    return _left_as_it_is(at) if waits else after


def _is_over(at: Look, since_ms: int) -> bool:
    """Whether a start has had its time."""
    return at.now_ms - since_ms > 1_000 * at.policy.ready_seconds


def _left_as_it_is(at: Look) -> Release:
    """Parked with what it has not processed: a release without an end would keep all others away."""
    side, version = at.release.faulty, at.release.good_version
    why = (
        f"{version} was not ready on {side} within {at.policy.ready_seconds:,} s ({_waiting_for(at)}): what "
        f"{side} has not processed stays in its topics; `hifi deploy VERSION` starts one there that goes on"
    )
    return moved(replace(at.release, unfinished=why), Step.LAY_DOWN, at.now_ms, why)


def _ready(at: Look) -> Release:
    found = at.seen.readiness
    if found is None:
        return at.release
    if found.ready:
        return at.onward("every program is ready")
    return replace(at.release, said=f"waiting for {_waiting_for(at)}")


def _prove(at: Look) -> Release:
    arrived, wanted = at.seen.proof.arrived if at.seen.proof else 0, at.policy.proof_events
    said = f"{arrived:,} of {wanted:,} events arrived byte for byte"
    return at.onward(said) if arrived >= wanted else replace(at.release, said=said)


def _load_test(at: Look) -> Release:
    rating = at.seen.rating
    if not at.policy.rating_days:
        return at.onward("left out by setting")
    if rating is None or sufficiency.old(rating, at.release.version, at.policy.rating_days, at.now_ms):
        return replace(at.release, said="under way")
    weaker = sufficiency.weaker(rating, at.seen.former_rating, at.policy.least_rating)
    return undone(at.release, weaker, at.now_ms) if weaker else at.onward(sufficiency.words(rating))


def _traffic(at: Look) -> Release:
    found, pins = at.seen.weights, pinned(at.release)
    if found is None or found.get(at.release.target) != percent(at.release, at.policy):
        return at.release
    if dict(at.seen.pinned) != pins:
        return at.release
    said = f"{', '.join(pins)} on {at.release.target}" if pins else shares(found)
    return replace(at.onward(said), traffic_ms=at.now_ms)


def _watch(at: Look) -> Release:
    verdict = at.release.verdicts[-1]
    said = "; ".join(verdict.words)
    return at.onward(said) if verdict.finding is Finding.GOOD else replace(at.release, said=said)


def _bake(at: Look) -> Release:
    """With little traffic it is over all the same: what is bad is found at any time."""
    said = "; ".join(at.release.verdicts[-1].words)
    over = at.now_ms - at.release.since_ms >= at.policy.bake_minutes * MINUTE_MS
    return at.onward(said) if over else replace(at.release, said=said)


def _drain(at: Look) -> Release:
    drained_ms = at.now_ms - at.release.traffic_ms
    if at.seen.remains is None or drained_ms < 1_000 * at.policy.linger_seconds:
        return at.release
    kept = drained_ms < 1_000 * at.policy.retries_seconds
    left = sufficiency.left(at.seen.remains, retries=kept)
    if left:
        return replace(at.release, said=f"left: {'; '.join(left)}")
    return at.onward(sufficiency.account(at.seen.remains))


def _is_parked(at: Look, side: str) -> bool:
    found = at.seen.deployed.get(side)
    return found is not None and found.parked


def _park(at: Look) -> Release:
    """Over if nothing came to the side meanwhile; else it drains again."""
    side, remains = at.release.former, at.seen.remains
    if why := why_not_stopped(at, side):
        return replace(at.release, said=why)
    if remains is None:
        return at.release
    if came := sufficiency.left(remains, retries=False):
        return moved(at.release, Step.DRAIN, at.now_ms, f"since {side} had drained came: {'; '.join(came)}")
    return at.onward(f"{side} is parked") if _is_parked(at, side) else at.release


def _lay_down(at: Look) -> Release:
    side = at.release.faulty
    if why := why_not_stopped(at, side):
        return replace(at.release, said=why)
    return at.onward(f"{side} is parked") if _is_parked(at, side) else at.release


def _settle(at: Look) -> Release:
    """Over once it is known of every event of the version whether it is lost, or if that takes too long.

    A version that is undone because it is late may have lost some that were not known yet.
    """
    if at.release.replay:
        return at.onward("what went through is processed again")
    if found := to_replay(at.seen.minutes, at.seen.former_minutes):
        return replace(at.onward(f"{'; '.join(found)}: processed again"), replay=True)
    if _outcome_known(at):
        return at.onward("none of the version's events is lost")
    passed_ms, readiness = at.now_ms - at.release.since_ms, at.seen.readiness
    if passed_ms > _DOWN_MS and readiness is not None and not readiness.ready:
        return at.onward(f"not known: waiting for {_waiting_for(at)}")
    if passed_ms > 1_000 * at.policy.outcome_seconds:
        return at.onward(f"not known after {at.policy.outcome_seconds:,} s")
    return replace(at.release, said="waiting for what became of the version's events")


def _outcome_known(at: Look) -> bool:
    """Whether the minutes with the version's events are settled, and nothing of them is under way."""
    last = last_minute(at.release, at.policy)
    reached = any(each.settled and each.minute >= last for each in at.seen.minutes)
    open_ = any(each.under_way or not each.settled for each in at.seen.minutes if each.minute <= last)
    return reached and not open_


def _linger(at: Look) -> Release:
    """Over once no client sends to the side any more, by a name that is cached or a connection that is kept.

    Until then it takes events, which are processed as those before them: the side is put right after that.
    """
    side, passed_ms, readiness = at.release.faulty, at.now_ms - at.release.traffic_ms, at.seen.readiness
    if passed_ms >= 1_000 * at.policy.linger_seconds:
        return at.onward(f"clients had {at.policy.linger_seconds:,} s to leave {side}")
    if passed_ms > _DOWN_MS and readiness is not None and not readiness.ready:
        return at.onward(f"{side} does not run: waiting for {_waiting_for(at)}")
    return replace(at.release, said=f"clients may still send to {side}")


def _stop(at: Look) -> Release:
    side = at.release.faulty
    if why := why_not_stopped(at, side):
        return replace(at.release, said=why)
    if not _is_parked(at, side):
        return at.release
    if at.seen.positions is not None:
        return replace(at.onward(f"{side} is stopped"), left_at=at.seen.positions)
    if not at.release.stopped_ms:
        return replace(at.release, stopped_ms=at.now_ms)
    if at.now_ms - at.release.stopped_ms > _POSITIONS_MS:
        return at.onward(f"{side} is stopped, and does not say where it stands")
    return at.release


def _wake(at: Look) -> Release:
    """Over at once if the side runs, whatever it lacks: weights are not given to one that takes nothing.

    One that was being parked does not count as running: it is not `parked` before its last program ended.
    """
    found, late = at.seen.deployed.get(at.release.former), _is_over(at, at.release.since_ms)
    if found is None:
        return at.release
    if found.parked and at.release.woken and late:
        return _not_woken(at)
    if found.parked:
        return replace(at.release, woken=True, said=f"{at.release.former} is started")
    if at.release.woken and not late:
        return _ready(at)
    return at.onward(f"{at.release.former} runs")


def _not_woken(at: Look) -> Release:
    """At its end: the traffic stays where it is, or it would go to a side that takes none."""
    former, target = at.release.former, at.release.target
    why = (
        f"{at.release.former_version} could not be started on {former} within {at.policy.ready_seconds:,} s "
        f"({_waiting_for(at)}): {target} keeps the traffic; `hifi deploy VERSION` brings another version"
    )
    return moved(replace(at.release, unfinished=why), Step.UNDONE, at.now_ms, why)


def _rewind(at: Look) -> Release:
    return at.onward(at.seen.restored) if at.seen.restored else at.release


def _catch_up(at: Look) -> Release:
    if at.seen.readiness is None or at.seen.readiness.ready:
        return replace(_drain(at), unready_ms=0)
    since_ms = at.release.unready_ms or at.now_ms
    return _left_as_it_is(at) if _is_over(at, since_ms) else replace(_ready(at), unready_ms=since_ms)


_STEPS: Final[Mapping[Step, Callable[[Look], Release]]] = {
    Step.PREFLIGHT: after_preflight,
    Step.SNAPSHOT: _snapshot,
    Step.START: _start,
    Step.READY: _ready,
    Step.PROVE: _prove,
    Step.LOAD_TEST: _load_test,
    Step.CANARY: _traffic,
    Step.WATCH: _watch,
    Step.HALF: _traffic,
    Step.WATCH_HALF: _watch,
    Step.BOTH: _traffic,
    Step.ALL: _traffic,
    Step.BAKE: _bake,
    Step.DRAIN: _drain,
    Step.PARK: _park,
    Step.WAKE: _wake,
    Step.GIVE_BACK: _traffic,
    Step.SETTLE: _settle,
    Step.LINGER: _linger,
    Step.STOP: _stop,
    Step.REWIND: _rewind,
    Step.RESTART: _restart,
    Step.CATCH_UP: _catch_up,
    Step.LAY_DOWN: _lay_down,
}
