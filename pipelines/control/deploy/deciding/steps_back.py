"""The release after each step by which it is undone and a side put right, given what was seen. Pure."""

from collections.abc import Callable, Mapping, Sequence
from typing import Final

from msgspec.structs import replace

from pipelines.control.deploy.backend import SideMinute
from pipelines.control.deploy.deciding.moved_traffic import held_up, noted_by_hand
from pipelines.control.deploy.deciding.seen import Look
from pipelines.control.deploy.deciding.shared_steps import (
    after_drain,
    after_park,
    after_ready,
    after_start,
    after_traffic,
    clients_had_time,
    is_parked,
    waiting_for,
)
from pipelines.control.deploy.deciding.transitions import catches_up, moved, onward
from pipelines.control.deploy.deciding.unready_side import (
    given_up,
    had_its_time,
    left_as_it_is,
    with_readiness,
)
from pipelines.control.deploy.judging.judgement import to_replay
from pipelines.control.deploy.judging.traffic_minutes import last_minute
from shared.contracts.release_steps import Step
from shared.contracts.releases import Release

_POSITIONS_MS: Final = 120_000
"""A side that cannot say for so long where it stands is set back to its snapshot."""

_DOWN_MS: Final = 60_000
"""A version that has not run for so long, without a break, says no more of its events."""


def _wake(at: Look) -> Release:
    """Over at once if the side is ready; else what it lacks is started again, and has its time.

    After that a side that runs gets its traffic whatever it lacks: what it takes is kept, and weights are not
    given to one that takes nothing.
    """
    found, late = at.seen.deployed.get(at.release.former), had_its_time(at, at.release.since_ms)
    if found is None:
        return at.release
    if found.parked and at.release.woken and late:
        return _not_woken(at)
    if found.parked:
        return replace(at.release, woken=True, said=f"{at.release.former} is started")
    if late:
        return at.onward(f"{at.release.former} runs")
    after = after_ready(at)
    return replace(after, woken=True) if after.step is Step.WAKE else after


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
    if found := to_replay(at.seen.minutes, at.seen.former_minutes or ()):
        return replace(at.onward(f"{'; '.join(found)}: processed again"), replay=True)
    if _outcome_known(at):
        return at.onward("none of the version's events is lost")
    noted = with_readiness(at)
    if _is_down(noted, at.now_ms):
        return onward(noted, at.now_ms, f"not known: waiting for {waiting_for(at)}")
    if at.now_ms - at.release.since_ms > 1_000 * at.policy.outcome_seconds:
        return onward(noted, at.now_ms, f"not known after {at.policy.outcome_seconds:,} s")
    return replace(noted, said="waiting for what became of the version's events")


def _outcome_known(at: Look) -> bool:
    """Whether the minutes with the version's events are settled, and nothing of them is under way.

    Those of the other side, too: whether it refused more events than that is seen beside them alone.
    """
    last = last_minute(at.release, at.policy)
    under_way = any(each.under_way for each in at.seen.minutes if each.minute <= last)
    settled = all(_settled(found or (), last) for found in (at.seen.minutes, at.seen.former_minutes))
    return settled and not under_way


def _settled(minutes: Sequence[SideMinute], last: int) -> bool:
    """Whether all minutes of a side up to the last one are settled; epoch minute."""
    reached = any(each.settled and each.minute >= last for each in minutes)
    return reached and all(each.settled for each in minutes if each.minute <= last)


def _linger(at: Look) -> Release:
    """Over once no client sends to the side any more, by a name that is cached or a connection that is kept.

    Until then it takes events, which are processed as those before them: the side is put right after that.
    """
    side = at.release.faulty
    if clients_had_time(at):
        return at.onward(f"clients had {at.policy.linger_seconds:,} s to leave {side}")
    noted = with_readiness(at)
    if _is_down(noted, at.now_ms):
        return onward(noted, at.now_ms, f"{side} does not run: waiting for {waiting_for(at)}")
    return replace(noted, said=f"clients may still send to {side}")


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
    late = after.step is Step.RESTART and had_its_time(at, at.release.since_ms)
    return _laid_down_as_it_is(at) if late else after


def _laid_down_as_it_is(at: Look) -> Release:
    return left_as_it_is(at, at.release.faulty, at.release.good_version, Step.LAY_DOWN)


def _catch_up(at: Look) -> Release:
    if at.seen.readiness is None or at.seen.readiness.ready:
        return replace(after_drain(at), unready_ms=0, unfinished="")
    if given_up(at):
        return _laid_down_as_it_is(at)
    return replace(after_ready(at), unready_ms=with_readiness(at).unready_ms)


def _lay_down(at: Look) -> Release:
    """Over once the side is parked; records that no customer sent may stay in its topics."""
    side = at.release.faulty
    if catches_up(at.release):
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
