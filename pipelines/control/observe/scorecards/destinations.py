"""How destinations do. Pure."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Final, NamedTuple

from pipelines.control.observe.ledger.minute_sums import Line
from pipelines.control.observe.ledger.reconciliation_rules import Reconciliation
from pipelines.control.observe.scorecards.minute_cards import Judged
from shared.contracts.ledger import Stage
from shared.contracts.scorecard import DestinationHealth

FAILING_SHARE: Final = 0.05
"""Of tries that fail: from here on a destination is failing."""

_FAILED: Final = (Stage.RETRYING, Stage.DEAD)
_TRIED: Final = (Stage.DELIVERED, *_FAILED)


class _Tried(NamedTuple):
    """What one minute says of a destination."""

    tenant: str
    destination: str
    pipe: str
    stage: Stage
    line: Line


def destination_health(
    parts: Iterable[Judged], still_open: Iterable[Judged] | None = None
) -> list[DestinationHealth]:
    """Every destination with a receipt in these minutes, the last few of any tenants, by tenant and name.

    What waits is counted in all minutes that are `still_open`, however old; unless told, in the same minutes.
    """
    held = list(parts)
    waiting = waiting_by_pipe(held if still_open is None else still_open)
    by_destination: dict[tuple[str, str], list[_Tried]] = {}
    for tried in _tried(held):
        by_destination.setdefault((tried.tenant, tried.destination), []).append(tried)
    return [_health(found, waiting) for _, found in sorted(by_destination.items())]


def _tried(parts: Iterable[Judged]) -> Iterable[_Tried]:
    return (
        _Tried(part.state.tenant, destination, pipe, stage, line)
        for part in parts
        for (stage, pipe, destination), line in part.state.lines.items()
        if stage in _TRIED and destination
    )


def waiting_by_pipe(parts: Iterable[Judged]) -> Mapping[tuple[str, str], int]:
    """Events that wait for their next try, by tenant and pipe."""
    total: dict[tuple[str, str], int] = {}
    for part in parts:
        for key, verdict in part.judgement.verdicts.items():
            if key.account is Reconciliation.RETRY:
                at = (part.state.tenant, key.pipe)
                total[at] = total.get(at, 0) + verdict.waiting
    return total


def _health(tried: Sequence[_Tried], waiting: Mapping[tuple[str, str], int]) -> DestinationHealth:
    newest = max((each.line for each in tried), key=lambda line: line.last_ms)
    delivered = sum(each.line.count for each in tried if each.stage is Stage.DELIVERED)
    failed = sum(each.line.count for each in tried if each.stage in _FAILED)
    pipes = sorted({each.pipe for each in tried})
    reasons: dict[str, int] = {}
    for each in tried:
        for reason, count in each.line.reasons.items():
            reasons[reason] = reasons.get(reason, 0) + count
    return DestinationHealth(
        name=tried[0].destination,
        tenant=tried[0].tenant,
        pipes=pipes,
        delivered=delivered,
        failed=failed,
        waiting=sum(waiting.get((tried[0].tenant, pipe), 0) for pipe in pipes),
        reasons=reasons,
        breaker=newest.breaker,
        lane=newest.lane,
        health=_word(delivered, failed, newest.breaker),
    )


def _word(delivered: int, failed: int, breaker: str) -> str:
    if not delivered and not failed:
        return "idle"
    if breaker == "open" or not delivered:
        return "down"
    return "failing" if failed >= FAILING_SHARE * (delivered + failed) else "good"
