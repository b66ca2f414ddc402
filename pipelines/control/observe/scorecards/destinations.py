"""The health of destinations. Pure."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Final, NamedTuple

from pipelines.control.observe.ledger.minute_sums import StageSums
from pipelines.control.observe.ledger.reconciliation_rules import Reconciliation
from pipelines.control.observe.scorecards.minute_cards import JudgedMinute
from shared.contracts.destination_health import DestinationHealth
from shared.contracts.documents import TenantName
from shared.contracts.envelope import MINUTE_MS
from shared.contracts.ledger import Stage

FAILING_SHARE: Final = 0.05
"""Share of failed tries from which a destination counts as failing."""

_FAILED: Final = (Stage.RETRYING, Stage.DEAD)
_TRIED: Final = (Stage.DELIVERED, *_FAILED)


class Waiting(NamedTuple):
    """Events of a pipe that wait to be retried."""

    events: int
    oldest_ms: int
    """Start of the oldest one's minute, epoch milliseconds."""


class _Tried(NamedTuple):
    """Tries of one destination in one minute."""

    pipe: str
    stage: Stage
    line: StageSums


def destination_health(
    recent: Iterable[JudgedMinute],
    unsettled: Iterable[JudgedMinute],
    known: Iterable[TenantName],
    window_seconds: float,
) -> list[DestinationHealth]:
    """Health of destinations that are published, have recent receipts or waiting events; by tenant and name.

    Args:
        recent: the last minutes of all tenants.
        unsettled: all minutes in which events may wait, however old.
        known: published destinations by tenant and name.
        window_seconds: the time that `recent` covers.
    """
    open_minutes = list(unsettled)
    waiting = waiting_by_pipe(open_minutes)
    tried = _by_destination(recent)
    pipes: dict[TenantName, set[str]] = {key: {each.pipe for each in found} for key, found in tried.items()}
    for (tenant, name), found in _by_destination(open_minutes).items():
        late = {each.pipe for each in found if (tenant, each.pipe) in waiting}
        if late:
            pipes.setdefault((tenant, name), set()).update(late)
    return [
        _health(key, tried.get(key, ()), _waits(key[0], pipes.get(key, ()), waiting), window_seconds)
        for key in sorted({*known, *pipes})
    ]


def _by_destination(parts: Iterable[JudgedMinute]) -> Mapping[TenantName, Sequence[_Tried]]:
    found: dict[TenantName, list[_Tried]] = {}
    for part in parts:
        for (stage, pipe, destination), line in part.state.lines.items():
            if stage in _TRIED and destination:
                found.setdefault((part.state.tenant, destination), []).append(_Tried(pipe, stage, line))
    return found


def waiting_by_pipe(parts: Iterable[JudgedMinute]) -> Mapping[TenantName, Waiting]:
    """Events that wait to be retried, by tenant and pipe; pipes without any are left out."""
    total: dict[TenantName, Waiting] = {}
    for part in parts:
        for key, verdict in part.judgement.verdicts.items():
            if key.account is Reconciliation.RETRY and verdict.waiting:
                at, minute_ms = (part.state.tenant, key.pipe), part.state.minute * MINUTE_MS
                before = total.get(at, Waiting(0, minute_ms))
                total[at] = Waiting(before.events + verdict.waiting, min(before.oldest_ms, minute_ms))
    return total


def _waits(
    tenant: str, pipes: Iterable[str], waiting: Mapping[TenantName, Waiting]
) -> Mapping[str, Waiting | None]:
    return {pipe: waiting.get((tenant, pipe)) for pipe in sorted(pipes)}


def _health(
    key: TenantName, tried: Sequence[_Tried], pipes: Mapping[str, Waiting | None], window_seconds: float
) -> DestinationHealth:
    newest = max((each.line for each in tried), key=lambda line: line.last_ms, default=StageSums())
    failures = [each.line for each in tried if each.stage in _FAILED]
    failure = max(failures, key=lambda line: line.last_ms, default=None)
    delivered = sum(each.line.count for each in tried if each.stage is Stage.DELIVERED)
    failed = sum(line.count for line in failures)
    waiting = [each for each in pipes.values() if each is not None]
    return DestinationHealth(
        name=key[1],
        tenant=key[0],
        pipes=list(pipes),
        delivered=delivered,
        failed=failed,
        waiting=sum(each.events for each in waiting),
        reasons=_reasons(each.line for each in tried),
        breaker=newest.breaker,
        lane=newest.lane,
        health=_word(delivered, failed, newest.breaker, bool(waiting)),
        window_seconds=window_seconds,
        last_error=_commonest(failure.reasons) if failure else "",
        last_error_ms=failure.last_ms if failure else None,
        oldest_waiting_ms=min((each.oldest_ms for each in waiting), default=None),
    )


def _reasons(lines: Iterable[StageSums]) -> dict[str, int]:
    reasons: dict[str, int] = {}
    for line in lines:
        for reason, count in line.reasons.items():
            reasons[reason] = reasons.get(reason, 0) + count
    return reasons


def _commonest(reasons: Mapping[str, int]) -> str:
    return max(sorted(reasons), key=lambda reason: reasons[reason], default="")


def _word(delivered: int, failed: int, breaker: str, waiting: bool) -> str:
    if not delivered and not failed:
        return "down" if waiting else "idle"
    if breaker == "open" or not delivered:
        return "down"
    return "failing" if failed >= FAILING_SHARE * (delivered + failed) else "good"
