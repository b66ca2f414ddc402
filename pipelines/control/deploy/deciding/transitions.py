"""Moves a release from step to step, forward and back. Pure."""

from typing import Final

from msgspec.structs import replace

from pipelines.control.deploy.policy import SHARING
from shared.contracts.release_steps import BACKWARD, Kind, Step
from shared.contracts.releases import Passed, Release

_MOST_PASSED: Final = 60
_FIRST_PASSED: Final = 20
"""Finished steps that are kept from the beginning of the log; no plan has more. The times at which the target
was started and got its first traffic are needed to the end, while draining and parking may repeat for ever.
"""

_TIMED: Final = frozenset(
    {
        Step.SNAPSHOT,
        Step.START,
        Step.READY,
        Step.PROVE,
        Step.LOAD_TEST,
        Step.WAKE,
        Step.SETTLE,
        Step.RESTART,
    }
)
"""Steps that are given up a time after they began, and neither give a side traffic nor judge it.

The beginning of one that gives traffic says from when on a version's events count, and stays.
"""

_OF_ONE_SIDE: Final = frozenset({Step.LINGER, Step.HALF, Step.WARM_HALF})
"""Steps that look at the same side as the step before them."""

_UNTOUCHED = (Step.PREFLIGHT, Step.SNAPSHOT)


def moved(release: Release, step: Step, now_ms: int, said: str = "") -> Release:
    """At another step; the one that is over goes to the log."""
    passed = Passed(step=release.step, since_ms=release.since_ms, until_ms=now_ms, said=said or release.said)
    return replace(
        release,
        step=step,
        since_ms=now_ms,
        limit_from_ms=0,
        unready_ms=release.unready_ms if step in _OF_ONE_SIDE else 0,
        reached=step if step in release.plan and not release.back else release.reached,
        waits=[],
        waits_since_ms=0,
        problem_ms=0,
        said="",
        log=_kept([*release.log, passed]),
    )


def _kept(log: list[Passed]) -> list[Passed]:
    if len(log) <= _MOST_PASSED:
        return log
    return [*log[:_FIRST_PASSED], *log[_FIRST_PASSED - _MOST_PASSED :]]


def onward(release: Release, now_ms: int, said: str = "") -> Release:
    """At the step after the present one, forward or back."""
    steps = _way_back(release) if release.back else (*release.plan, Step.DONE)
    # A release that a deployer of another version was on the way back with may have other steps.
    following = steps.index(release.step) + 1 if release.step in steps else -1
    return moved(release, steps[following], now_ms, said)


def taken_over(release: Release, owner: str, now_ms: int) -> Release:
    """Hand the release to another process, with a higher term.

    Nothing was looked at or started since the process before it ended. So all times start anew: of waits, of
    sides that are unready or stopped, of a place that cannot be asked, and of steps with a time limit.
    """
    return replace(
        release,
        owner=owner,
        term=release.term + 1,
        since_ms=now_ms if release.step in _TIMED else release.since_ms,
        limit_from_ms=now_ms if release.step in SHARING else 0,
        waits_since_ms=now_ms,
        unready_ms=0,
        stopped_ms=0,
        problem_ms=0,
    )


def undone(release: Release, why: str, now_ms: int, *, replay: bool = False) -> Release:
    """Turn the release back, or end it if nothing was changed.

    Events that went through a bad version are processed again only if some may have been customers'.
    """
    back = replace(
        release,
        back=why,
        replay=release.replay or (replay and release.processed),
        woken=release.woken or _may_be_stopping(release),
        unfinished="",  # a side that was to be parked as it is gets its traffic back
    )
    if release.reached in _UNTOUCHED or release.kind is Kind.BURST_OFF:
        return moved(back, Step.UNDONE, now_ms, why)
    return moved(back, _way_back(back)[0], now_ms, why)


def ended_as_is(release: Release, why: str, now_ms: int) -> Release:
    """At its end without a way back: an operator moved the traffic, and nothing of that is changed."""
    return moved(replace(release, back=why), Step.UNDONE, now_ms, why)


def _may_be_stopping(release: Release) -> bool:
    """Whether the former side may be half stopped: it has to be started, though it does not count as parked.

    `reached` does not say so: a side that got something meanwhile drains again.
    """
    return Step.PARK in (release.step, *(each.step for each in release.log))


def going_back(release: Release) -> bool:
    """Whether the release is on its way back."""
    return bool(release.back) and release.step in BACKWARD


def catches_up(release: Release) -> bool:
    """Whether the side that is put right processes what it took before it is parked."""
    return Step.CATCH_UP in (_way_back(release) if release.back else release.plan)


def _way_back(release: Release) -> tuple[Step, ...]:
    """Wakes the side that served if it has had no traffic: it may be parked, or was not started again.

    If customers' events went through, it waits until it is known what became of them, and catches up; the
    version takes events until no client sends any more. Of a rollback only the weights are given back: the
    version that it brings is good, and has its own positions.
    """
    if release.kind is Kind.ROLLBACK:
        took = (Step.CATCH_UP,) if release.by_hand else ()
        return (Step.GIVE_BACK, *(() if release.opened else (*took, Step.LAY_DOWN)), Step.UNDONE)
    wake = (Step.WAKE,) if release.has_reached(Step.ALL) else ()
    settle = (Step.SETTLE, Step.LINGER) if release.processed else ()
    catch_up = (Step.RESTART, Step.CATCH_UP, Step.LAY_DOWN) if release.processed else ()
    return (*wake, Step.GIVE_BACK, *settle, Step.STOP, Step.REWIND, *catch_up, Step.UNDONE)
