"""What comes after each step by which a release is undone and a side put right, given what was seen. Pure."""

from collections.abc import Callable, Mapping
from typing import Final

from msgspec.structs import replace

from pipelines.control.deploy.judgement import to_replay
from pipelines.control.deploy.moved_traffic import held_up, noted_by_hand
from pipelines.control.deploy.seen import Look
from pipelines.control.deploy.shared_steps import (
    after_drain,
    after_park,
    after_ready,
    after_start,
    after_traffic,
    is_parked,
    waiting_for,
)
from pipelines.control.deploy.traffic_minutes import last_minute
from pipelines.control.deploy.transitions import catches_up, moved, onward
from shared.contracts.release_steps import Step
from shared.contracts.releases import Release

_POSITIONS_MS: Final = 120_000
"""A side that cannot say for so long where it stands is set back to its snapshot."""

_DOWN_MS: Final = 60_000
"""A version that has not run for so long, without a break, says no more of its events."""


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
        return after_ready(at)
    return at.onward(f"{at.release.former} runs")


def _not_woken(at: Look) -> Release:
    """At its end: the traffic stays where it is, or it would go to a side that takes none."""
    former, target = at.release.former, at.release.target
    why = (
        f"{at.release.former_version} could not be started on {former} within {at.policy.ready_seconds:,} s "
        f"({waiting_for(at)}): {target} keeps the traffic; `hifi deploy VERSION` brings another version"
    )
    return moved(replace(at.release, unfinished=why), Step.UNDONE, at.now_ms, why)


def _give_back(at: Look) -> Release:
    return noted_by_hand(at) or after_traffic(at)


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
    noted = _with_readiness(at)
    if _is_down(noted, at.now_ms):
        return onward(noted, at.now_ms, f"not known: waiting for {waiting_for(at)}")
    if at.now_ms - at.release.since_ms > 1_000 * at.policy.outcome_seconds:
        return onward(noted, at.now_ms, f"not known after {at.policy.outcome_seconds:,} s")
    return replace(noted, said="waiting for what became of the version's events")


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
    side, passed_ms = at.release.faulty, at.now_ms - at.release.traffic_ms
    if passed_ms >= 1_000 * at.policy.linger_seconds:
        return at.onward(f"clients had {at.policy.linger_seconds:,} s to leave {side}")
    noted = _with_readiness(at)
    if _is_down(noted, at.now_ms):
        return onward(noted, at.now_ms, f"{side} does not run: waiting for {waiting_for(at)}")
    return replace(noted, said=f"clients may still send to {side}")


def _with_readiness(at: Look) -> Release:
    """The release with the time since which the looked-at side has not been ready, at any look."""
    readiness = at.seen.readiness
    if readiness is None or readiness.ready:
        return replace(at.release, unready_ms=0)
    return replace(at.release, unready_ms=at.release.unready_ms or at.now_ms)


def _is_down(release: Release, now_ms: int) -> bool:
    """Whether the version does not run: one that is started again within a minute may say more."""
    return bool(release.unready_ms) and now_ms - release.unready_ms > _DOWN_MS


def _stop(at: Look) -> Release:
    side = at.release.faulty
    if (held := held_up(at, side, Step.SETTLE if at.release.back else Step.LINGER)) is not None:
        return held
    if not is_parked(at, side):
        return at.release
    if at.seen.positions is not None:
        return replace(at.onward(f"{side} is stopped"), left_at=at.seen.positions)
    if not at.release.stopped_ms:
        return replace(at.release, stopped_ms=at.now_ms)
    if at.now_ms - at.release.stopped_ms > _POSITIONS_MS:
        return at.onward(f"{side} is stopped, and does not say where it stands")
    return at.release


def _rewind(at: Look) -> Release:
    if at.seen.restored:
        return at.onward(at.seen.restored)
    found = at.seen.positions
    return at.release if found is None else replace(at.release, left_at=found)


def _restart(at: Look) -> Release:
    after = after_start(at, at.release.faulty, at.release.good_version)
    waits = after.step is Step.RESTART and _is_over(at, at.release.since_ms)
    return _left_as_it_is(at) if waits else after


def _is_over(at: Look, since_ms: int) -> bool:
    """Whether a start has had its time."""
    return at.now_ms - since_ms > 1_000 * at.policy.ready_seconds


def _left_as_it_is(at: Look) -> Release:
    """Parked with what it has not processed: a release without an end would keep all others away."""
    side, version = at.release.faulty, at.release.good_version
    why = (
        f"{version} was not ready on {side} within {at.policy.ready_seconds:,} s ({waiting_for(at)}): what "
        f"{side} has not processed stays in its topics; `hifi deploy VERSION` starts one there that goes on"
    )
    return moved(replace(at.release, unfinished=why), Step.LAY_DOWN, at.now_ms, why)


def _catch_up(at: Look) -> Release:
    if at.seen.readiness is None or at.seen.readiness.ready:
        return replace(after_drain(at), unready_ms=0, unfinished="")
    since_ms = _with_readiness(at).unready_ms
    return _left_as_it_is(at) if _is_over(at, since_ms) else replace(after_ready(at), unready_ms=since_ms)


def _lay_down(at: Look) -> Release:
    """What could not be put right stays in the topics, and what no customer sent may."""
    side = at.release.faulty
    if not at.release.unfinished and catches_up(at.release):
        return after_park(at, side, Step.CATCH_UP, "caught up")
    if (held := held_up(at, side, Step.CATCH_UP)) is not None:
        return held
    return at.onward(f"{side} is parked") if is_parked(at, side) else at.release


STEPS_BACK: Final[Mapping[Step, Callable[[Look], Release]]] = {
    Step.WAKE: _wake,
    Step.GIVE_BACK: _give_back,
    Step.SETTLE: _settle,
    Step.LINGER: _linger,
    Step.STOP: _stop,
    Step.REWIND: _rewind,
    Step.RESTART: _restart,
    Step.CATCH_UP: _catch_up,
    Step.LAY_DOWN: _lay_down,
}
