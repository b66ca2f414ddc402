"""All conditions, over the facts of one look. Pure."""

from collections.abc import Iterator
from itertools import chain
from typing import Final

from pipelines.control.observe.alarms import loss_rules, throughput_rules
from pipelines.control.observe.alarms.burn_rate import burning
from pipelines.control.observe.alarms.formatting import counted, listed
from pipelines.control.observe.alarms.history import History
from pipelines.control.observe.alarms.inputs import Evaluation, Finding, Inputs
from pipelines.control.observe.alarms.settings import AlarmSettings
from pipelines.control.observe.ledger.fault_attribution import customer_fix
from shared.contracts.alarms import AlarmKind, Audience
from shared.contracts.documents import Catalogue
from shared.contracts.scorecard import DestinationHealth

_FROM_OFFSETS: Final = frozenset({AlarmKind.STALLED, AlarmKind.METER})
_FROM_TALLIES: Final = frozenset(AlarmKind) - _FROM_OFFSETS
_FROM_DOCUMENTS: Final = frozenset({AlarmKind.BACKLOG, AlarmKind.SILENT})


def evaluate(
    inputs: Inputs, history: History, catalogue: Catalogue | None, settings: AlarmSettings
) -> Evaluation:
    """What holds now.

    While the meter is behind, nobody is called silent, and no alarm that rests on tallies is called over.

    Args:
        inputs: one look.
        history: after the same look.
        catalogue: what is published; None while that is not known.
        settings: thresholds.
    """
    behind = inputs.behind_seconds > settings.alarm_meter_seconds
    found = chain(
        loss_rules.proven(inputs, history, settings),
        loss_rules.rate(inputs, settings),
        loss_rules.doubled(inputs, settings),
        burning(inputs),
        throughput_rules.stalled(inputs, settings),
        throughput_rules.backlog(inputs, history, catalogue, settings) if catalogue is not None else (),
        throughput_rules.silent(inputs, catalogue, settings) if catalogue is not None and not behind else (),
        throughput_rules.rating(inputs, settings),
        throughput_rules.meter(inputs, settings),
        failures(inputs, settings),
    )
    unknown = (_FROM_TALLIES if behind else frozenset()) | (
        _FROM_DOCUMENTS if catalogue is None else frozenset()
    )
    return Evaluation(findings=list(found), unknown=unknown)


def failures(inputs: Inputs, settings: AlarmSettings) -> Iterator[Finding]:
    """One finding for each destination and reason that its customer can mend."""
    for each in inputs.destinations:
        for reason, count in each.reasons.items():
            mend = customer_fix(reason)
            if mend is not None and count >= settings.alarm_customer_events:
                yield Finding(
                    kind=AlarmKind.CUSTOMER,
                    audience=Audience.CUSTOMER,
                    tenant=each.tenant,
                    subject=f"{each.name} {_short(reason)}",
                    text=_text(each, reason, count, mend),
                )


def _short(reason: str) -> str:
    """The status where there is one, else the word."""
    status, _, word = reason.partition(" ")
    return status if status.isdigit() and word in ("refused", "redirect") else word


def _text(each: DestinationHealth, reason: str, count: int, mend: str) -> str:
    status, _, word = reason.partition(" ")
    said = f"answered {status}" if status.isdigit() else f"failed with {word}"
    pipes = f" (pipe {listed(each.pipes)})" if each.pipes else ""
    return f"destination {each.name}{pipes} {said} for {counted(count, 'event')} of the last minutes: {mend}"
