"""Requests to the deployer, and the release that each becomes. Pure."""

from typing import Final

from msgspec import Struct
from msgspec.structs import replace

from shared.contracts.release_steps import BACKWARD, Kind, Step
from shared.contracts.releases import Release

_BEFORE_POSITIONS: Final = BACKWARD[: BACKWARD.index(Step.REWIND)]
"""Steps back, after which positions are set."""


class Request(Struct, frozen=True, kw_only=True):
    """A release that an operator asks for."""

    kind: Kind
    version: str = ""
    """The version to deploy, for a DEPLOY."""

    replay: bool = False
    """For a ROLLBACK: whether to process again what the bad version processed."""

    canary_tenants: list[str] = []
    """For a DEPLOY: customers that its first traffic comes from, instead of a share of all traffic."""

    by: str


class RequestRefusedError(Exception):
    """A request that does not fit; the text says why, and what does."""


def requested(
    current: Release | None, asked: Request, now_ms: int, changed: Release | None = None
) -> Release:
    """The release that a request makes of the present one.

    Args:
        current: the one that is under way or ended last; None if there never was one.
        asked: what is wanted.
        now_ms: now, epoch milliseconds.
        changed: if `current` ended without a change, the last one before it that made one; None for none.

    Raises:
        RequestRefusedError: if it does not fit.
    """
    if asked.kind is Kind.DEPLOY and not asked.version:
        raise RequestRefusedError("name the version to deploy")
    if current is None:
        if asked.kind in (Kind.ROLLBACK, Kind.BURST_OFF):
            raise RequestRefusedError(f"{asked.kind}: there was no release yet")
        return _begun(None, asked, now_ms)
    if not current.ended:
        return _undoing(current, asked)
    if asked.kind is Kind.ROLLBACK:
        return _rollback(current, (current.changed_nothing and changed) or current, asked, now_ms)
    if asked.kind is Kind.BURST_OFF:
        return _burst_off(current, asked, now_ms)
    if _burst_is_on(current):
        raise RequestRefusedError(f"{asked.kind}: both sides take traffic; `hifi burst off` first")
    return _begun(current, asked, now_ms)


def _undoing(current: Release, asked: Request) -> Release:
    under_way = f"{current.kind} {current.version}".strip()
    if asked.kind is not Kind.ROLLBACK:
        raise RequestRefusedError(
            f"{under_way} is under way (step {current.step}); `hifi rollback` undoes it"
        )
    if current.kind in (Kind.ROLLBACK, Kind.BURST_OFF):
        raise RequestRefusedError(f"{under_way} is under way and cannot be undone: wait for its end")
    if current.back:
        if asked.replay and not current.replay and current.step in _BEFORE_POSITIONS:
            return replace(current, replay=True)
        raise RequestRefusedError(f"{under_way} is being undone already: {current.back}")
    return replace(current, back=f"{asked.by} asked for it", replay=asked.replay)


def _rollback(current: Release, last: Release, asked: Request, now_ms: int) -> Release:
    """`last` is undone, or begun again: a rollback that failed. `current` may have been refused after it."""
    if _gave_back(last):
        return replace(_once_more(last, _begun(current, asked, now_ms)), replay=asked.replay)
    if last.kind is not Kind.DEPLOY or last.step is not Step.DONE:
        raise RequestRefusedError(
            f"the last release ({last.kind} {last.version}) is {last.step}: nothing to roll back; "
            "`hifi deploy VERSION` brings any version"
        )
    following = _way_back(last, _begun(current, asked, now_ms))
    return replace(following, snapshot=last.snapshot, replay=asked.replay)


def _gave_back(last: Release) -> bool:
    """Whether it is a rollback after which the version that it was to leave has all traffic, as before it."""
    steps = {each.step for each in last.log}
    return last.kind is Kind.ROLLBACK and last.step is Step.UNDONE and Step.GIVE_BACK in steps


def _way_back(last: Release, following: Release) -> Release:
    """The release that follows one that was done, and leads to where that one came from."""
    return replace(
        following,
        version=last.former_version,
        target=last.former,
        former=last.target,
        former_version=last.version,
    )


def _once_more(last: Release, following: Release) -> Release:
    """The release that follows one that was not done, with the same aim."""
    return replace(
        following,
        version=last.version,
        target=last.target,
        former=last.former,
        former_version=last.former_version,
        snapshot=last.snapshot,
    )


def _burst_is_on(current: Release) -> bool:
    """Whether both sides take traffic: a burst is done, or its end was not."""
    if current.kind is Kind.BURST_OFF:
        return current.step is Step.UNDONE
    return current.kind is Kind.BURST and current.step is Step.DONE


def _burst_off(current: Release, asked: Request, now_ms: int) -> Release:
    if not _burst_is_on(current):
        raise RequestRefusedError("no burst is on; `hifi sides` shows the weights")
    following = _begun(current, asked, now_ms)
    if current.kind is Kind.BURST_OFF:  # which was not done
        return _once_more(current, following)
    return _way_back(current, following)


def _begun(current: Release | None, asked: Request, now_ms: int) -> Release:
    return Release(
        number=current.number + 1 if current else 1,
        kind=asked.kind,
        version=asked.version,
        since_ms=now_ms,
        canary_tenants=asked.canary_tenants if asked.kind is Kind.DEPLOY else [],
        asked_by=asked.by,
        asked_ms=now_ms,
        term=current.term if current else 0,
        owner=current.owner if current else "",
        revision=current.revision if current else 0,
    )
