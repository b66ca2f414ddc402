"""The health of destinations. Pure."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Final, NamedTuple

from pipelines.control.observe.ledger.minute_sums import StageSums
from pipelines.control.observe.scorecards.late_failures import (
    FAILED,
    TRIED,
    Tried,
    late_failures,
    waiting_in,
)
from pipelines.control.observe.scorecards.minute_cards import JudgedMinute
from shared.contracts.destination_health import DestinationHealth
from shared.contracts.documents import TenantName
from shared.contracts.envelope import MINUTE_MS
from shared.contracts.ledger import Stage

FAILING_SHARE: Final = 0.05
"""Share of failed tries from which a destination counts as failing."""


class Waiting(NamedTuple):
    """Events of a pipe that wait to be retried."""

    events: int
    oldest_ms: int
    """Start of the oldest one's minute, epoch milliseconds."""


def destination_health(
    recent: Iterable[JudgedMinute],
    unsettled: Iterable[JudgedMinute],
    known: Iterable[TenantName],
    window_seconds: float,
    delivered: Mapping[TenantName, int],
) -> list[DestinationHealth]:
    """Health of destinations that are published, have recent receipts or waiting events; by tenant and name.

    Args:
        recent: the last minutes of all tenants.
        unsettled: all minutes in which events may wait, however old.
        known: published destinations by tenant and name.
        window_seconds: the time that `recent` covers.
        delivered: when destinations were last delivered anything, epoch milliseconds, see `LastDeliveries`.
    """
    open_minutes, last_minutes = list(unsettled), list(recent)
    waiting = waiting_by_pipe(open_minutes)
    tried, older = _by_destination(last_minutes), _by_destination(_others(open_minutes, last_minutes))
    pipes: dict[TenantName, set[str]] = {key: {each.pipe for each in found} for key, found in tried.items()}
    for (tenant, name), found in _by_destination(open_minutes).items():
        late = {each.pipe for each in found if (tenant, each.pipe) in waiting}
        if late:
            pipes.setdefault((tenant, name), set()).update(late)
    return [
        _health(
            key,
            tried.get(key, ()),
            late_failures(older.get(key, ()), delivered.get(key, 0), window_seconds),
            _waits(key[0], pipes.get(key, ()), waiting),
            window_seconds,
        )
        for key in sorted({*known, *pipes})
    ]


def _others(parts: Iterable[JudgedMinute], known: Iterable[JudgedMinute]) -> list[JudgedMinute]:
    """Those of the minutes that are not among the known ones."""
    keys = {(part.state.tenant, part.state.minute) for part in known}
    return [part for part in parts if (part.state.tenant, part.state.minute) not in keys]


def _by_destination(parts: Iterable[JudgedMinute]) -> Mapping[TenantName, Sequence[Tried]]:
    found: dict[TenantName, list[Tried]] = {}
    for part in parts:
        waiting = waiting_in(part)
        for (stage, pipe, destination), line in part.state.lines.items():
            if stage in TRIED and destination:
                each = Tried(pipe, stage, line, waiting.get(pipe, 0))
                found.setdefault((part.state.tenant, destination), []).append(each)
    return found


def waiting_by_pipe(parts: Iterable[JudgedMinute]) -> Mapping[TenantName, Waiting]:
    """Events that wait to be retried, by tenant and pipe; pipes without any are left out."""
    total: dict[TenantName, Waiting] = {}
    for part in parts:
        minute_ms = part.state.minute * MINUTE_MS
        for pipe, events in waiting_in(part).items():
            before = total.get((part.state.tenant, pipe), Waiting(0, minute_ms))
            oldest_ms = min(before.oldest_ms, minute_ms)
            total[part.state.tenant, pipe] = Waiting(before.events + events, oldest_ms)
    return total


def _waits(
    tenant: str, pipes: Iterable[str], waiting: Mapping[TenantName, Waiting]
) -> Mapping[str, Waiting | None]:
    return {pipe: waiting.get((tenant, pipe)) for pipe in sorted(pipes)}


def _health(
    key: TenantName,
    tried: Sequence[Tried],
    late: Sequence[Tried],
    pipes: Mapping[str, Waiting | None],
    window_seconds: float,
) -> DestinationHealth:
    newest = max((each.line for each in tried), key=lambda line: line.last_ms, default=StageSums())
    failures = [each.line for each in tried if each.stage in FAILED]
    failure = max((*failures, *(each.line for each in late)), key=lambda line: line.last_ms, default=None)
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
        reasons=_reasons(
            [*(each.line.reasons for each in tried), *(each.waiting_by_reason for each in late)]
        ),
        breaker=newest.breaker,
        lane=newest.lane,
        health=_word(delivered, failed, newest.breaker, bool(waiting)),
        window_seconds=window_seconds,
        last_error=_commonest(failure.reasons) if failure else "",
        last_error_ms=failure.last_ms if failure else None,
        oldest_waiting_ms=min((each.oldest_ms for each in waiting), default=None),
    )


def _reasons(parts: Iterable[Mapping[str, int]]) -> dict[str, int]:
    reasons: dict[str, int] = {}
    for part in parts:
        for reason, count in part.items():
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
