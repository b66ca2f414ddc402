"""Evaluates all alarm rules, and holds the rule for customers' own failures. Pure."""

from collections.abc import Iterator
from itertools import chain
from typing import Final

from pipelines.control.observe.alarms import loss_rules, skew_rules, throughput_rules
from pipelines.control.observe.alarms.burn_rate import burning
from pipelines.control.observe.alarms.formatting import counted, listed, with_remedy
from pipelines.control.observe.alarms.history import History
from pipelines.control.observe.alarms.inputs import Evaluation, Finding, Inputs
from pipelines.control.observe.alarms.settings import AlarmSettings
from pipelines.control.observe.ledger.fault_attribution import connection_remedy, customer_remedy
from shared.contracts.alarms import AlarmKind, Audience
from shared.contracts.destination_health import DestinationHealth
from shared.contracts.documents import Catalogue

_FROM_OFFSETS: Final = frozenset({AlarmKind.STALLED, AlarmKind.METER})
_FROM_TALLIES: Final = frozenset(AlarmKind) - _FROM_OFFSETS
_FROM_DOCUMENTS: Final = frozenset({AlarmKind.BACKLOG, AlarmKind.SILENT, AlarmKind.CUSTOMER, AlarmKind.SKEW})
"""Kinds that need the documents; alarms for customers need their contacts, which are documents too."""


def evaluate(
    inputs: Inputs, history: History, catalogue: Catalogue | None, settings: AlarmSettings
) -> Evaluation:
    """Evaluate all rules.

    While the meter is behind, no source counts as silent, and no alarm that is based on tallies is resolved.

    Args:
        inputs: of this pass.
        history: updated with the same inputs.
        catalogue: published documents; None while they are not loaded.
        settings: thresholds.
    """
    behind = inputs.behind_seconds > settings.alarm_meter_seconds
    found = chain(
        loss_rules.proven(inputs, history, settings),
        loss_rules.rate(inputs, history, settings),
        loss_rules.doubled(inputs, history, settings),
        burning(inputs),
        throughput_rules.stalled(inputs, settings),
        throughput_rules.backlog(inputs, history, catalogue, settings) if catalogue is not None else (),
        throughput_rules.silent(inputs, history, catalogue) if catalogue is not None and not behind else (),
        throughput_rules.rating(inputs, settings),
        throughput_rules.meter(inputs, settings),
        failures(inputs, settings) if catalogue is not None else (),
        stopped_rollouts(inputs) if catalogue is not None else (),
        skew_rules.skewed(inputs, catalogue) if catalogue is not None else (),
    )
    unknown = _unknown(inputs, catalogue, behind=behind)
    return Evaluation(findings=list(found), unknown=unknown, contacts_known=catalogue is not None)


def _unknown(inputs: Inputs, catalogue: Catalogue | None, *, behind: bool) -> frozenset[AlarmKind]:
    """Kinds that may hold without a finding: their inputs are late, or are not known."""
    kinds = {
        _FROM_TALLIES: behind,
        _FROM_DOCUMENTS: catalogue is None,
        frozenset({AlarmKind.CUSTOMER}): inputs.stopped is None,
        frozenset({AlarmKind.SKEW}): inputs.skews is None,
        frozenset({AlarmKind.STALLED}): inputs.nodes is None,
    }
    return frozenset[AlarmKind]().union(*(found for found, lacking in kinds.items() if lacking))


def failures(inputs: Inputs, settings: AlarmSettings) -> Iterator[Finding]:
    """One finding for each destination and failure that its customer can fix; never for the operator.

    A connection that fails is the customer's to fix if nothing else reaches the destination either, while
    hifi reaches others.
    """
    reached = [each.name for each in inputs.destinations if each.delivered]
    for each in inputs.destinations:
        lasting = not each.delivered and (bool(reached) or len(inputs.destinations) == 1)
        for reason, count in each.reasons.items():
            remedy = customer_remedy(reason) or (connection_remedy(reason) if lasting else None)
            if remedy is not None and count >= settings.alarm_customer_events:
                yield Finding(
                    kind=AlarmKind.CUSTOMER,
                    audience=Audience.CUSTOMER,
                    tenant=each.tenant,
                    subject=f"{each.name} {_short(reason)}",
                    text=with_remedy(_text(each, reason, count), *remedy),
                    cause=remedy.cause,
                    fix=remedy.fix,
                    document=f"destination/{each.name}",
                )


def stopped_rollouts(inputs: Inputs) -> Iterator[Finding]:
    """One finding for each rollout that stopped: only its customer can say how to go on."""
    for each in inputs.stopped or ():
        fix = f"repair what fails, then `hifi rollout {each.pipe} resume` tries the step again"
        what = f"the rollout of pipe {each.pipe} stopped and is back at {each.share:g} %"
        yield Finding(
            kind=AlarmKind.CUSTOMER,
            audience=Audience.CUSTOMER,
            tenant=each.tenant,
            subject=f"rollout {each.pipe}",
            text=with_remedy(what, each.reason, fix),
            cause=each.reason,
            fix=fix,
            document=f"pipe/{each.pipe}",
        )


def _short(reason: str) -> str:
    """The status if the destination answered, else the word."""
    status, _, word = reason.partition(" ")
    return status if status.isdigit() and word in ("refused", "redirect") else word


def _text(each: DestinationHealth, reason: str, count: int) -> str:
    status, _, word = reason.partition(" ")
    said = f"answered {status}" if status.isdigit() else f"failed with {word}"
    pipes = f" (pipe {listed(each.pipes)})" if each.pipes else ""
    waits = bool(each.waiting) and not (each.delivered or each.failed)
    when = "that wait, of which none was delivered since" if waits else "in the last minutes"
    return f"destination {each.name}{pipes} {said} for {counted(count, 'event')} {when}"
