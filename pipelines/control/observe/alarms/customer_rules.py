"""Customers' own lasting failures, grouped, for the customer and never for the operator. Pure."""

from collections.abc import Iterator

from pipelines.control.observe.alarms.formatting import counted, listed
from pipelines.control.observe.alarms.inputs import Finding, Inputs
from pipelines.control.observe.alarms.settings import AlarmSettings
from pipelines.control.observe.ledger.fault_attribution import customers_mend
from shared.contracts.alarms import AlarmKind, Audience
from shared.contracts.scorecard import DestinationHealth


def failures(facts: Inputs, settings: AlarmSettings) -> Iterator[Finding]:
    """One finding for each destination and reason that its customer can mend."""
    for each in facts.destinations:
        for reason, count in each.reasons.items():
            mend = customers_mend(reason)
            if mend is not None and count >= settings.alarm_customer_events:
                yield Finding(
                    kind=AlarmKind.CUSTOMER,
                    audience=Audience.CUSTOMER,
                    tenant=each.tenant,
                    subject=f"{each.name} {_short(reason)}",
                    text=_told(each, reason, count, mend),
                )


def _short(reason: str) -> str:
    """The status where there is one, else the word."""
    status, _, word = reason.partition(" ")
    return status if status.isdigit() and word in ("refused", "redirect") else word


def _told(each: DestinationHealth, reason: str, count: int, mend: str) -> str:
    status, _, word = reason.partition(" ")
    said = f"answered {status}" if status.isdigit() else f"failed with {word}"
    pipes = f" (pipe {listed(each.pipes)})" if each.pipes else ""
    return f"destination {each.name}{pipes} {said} for {counted(count, 'event')} of the last minutes: {mend}"
