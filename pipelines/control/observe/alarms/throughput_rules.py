"""Alarm rules for stalled nodes, growing backlogs, silent sources, traffic and the meter's own lag. Pure."""

from collections.abc import Iterator

from pipelines.control.observe.alarms.formatting import counted, moment
from pipelines.control.observe.alarms.history import BacklogSample, History
from pipelines.control.observe.alarms.history_keys import name_key, split_name
from pipelines.control.observe.alarms.inputs import Finding, Inputs
from pipelines.control.observe.alarms.settings import AlarmSettings
from shared.contracts.alarms import AlarmKind
from shared.contracts.documents import Catalogue
from shared.contracts.envelope import MINUTE_MS


def stalled(inputs: Inputs, settings: AlarmSettings) -> Iterator[Finding]:
    """Nodes with offsets that do not move although there are records to read."""
    for node in inputs.nodes or ():
        seconds = (inputs.at_ms - node.moved_ms) / 1000
        if node.readable > 0 and seconds > settings.alarm_stalled_seconds:
            text = (
                f"{node.node} has read nothing for {seconds:.0f} s, "
                f"with {counted(node.readable, 'record')} waiting"
            )
            yield Finding(kind=AlarmKind.STALLED, subject=node.node, text=text)


def backlog(
    inputs: Inputs, history: History, catalogue: Catalogue, settings: AlarmSettings
) -> Iterator[Finding]:
    """Pipes with a growing number of events in the retry topics."""
    for (tenant, pipe), waiting in inputs.waiting.items():
        samples = history.backlogs.get(name_key(tenant, pipe), [])
        if waiting >= settings.alarm_backlog_events and _grows(samples, settings.alarm_backlog_minutes):
            known, first = catalogue.pipes.get((tenant, pipe)), samples[0]
            minutes = (inputs.at_ms - first.at_ms) / MINUTE_MS
            leads = f" to destination {known.destination}" if known else ""
            text = (
                f"{counted(waiting, 'event')} of pipe {pipe}{leads} wait to be retried, "
                f"{waiting - first.waiting:,} more than {minutes:.0f} minutes ago"
            )
            yield Finding(kind=AlarmKind.BACKLOG, tenant=tenant, subject=pipe, text=text)


def _grows(samples: list[BacklogSample], minutes: int) -> bool:
    """Whether every sample of the later half exceeds every one of the earlier half; waves do not count."""
    if len(samples) < 2 or samples[-1].at_ms - samples[0].at_ms < minutes * MINUTE_MS:
        return False
    middle = len(samples) // 2
    earlier = max(sample.waiting for sample in samples[:middle])
    return min(sample.waiting for sample in samples[middle:]) > earlier


def silent(inputs: Inputs, history: History, catalogue: Catalogue) -> Iterator[Finding]:
    """Published sources that used to send and have stopped."""
    for key, last in history.silent.items():
        tenant, name = split_name(key)
        if (tenant, name) in catalogue.sources:
            quiet = inputs.at_ms // MINUTE_MS - last - 1
            text = (
                f"source {name} has sent nothing for {quiet} minutes, since {moment(last)}; "
                f"it used to send in nearly every minute"
            )
            yield Finding(kind=AlarmKind.SILENT, tenant=tenant, subject=name, text=text)


def rating(inputs: Inputs, settings: AlarmSettings) -> Iterator[Finding]:
    """Traffic close to the side's rating."""
    rated = settings.alarm_rating
    if rated is not None and inputs.rate > rated / settings.alarm_rating_part:
        text = (
            f"{inputs.rate:,.0f} events/s are {inputs.rate / rated * 100:.0f} % of the side's rating, "
            f"{rated:,.0f} events/s; the alarm is at {100 / settings.alarm_rating_part:.0f} %"
        )
        yield Finding(kind=AlarmKind.RATING, subject="traffic", text=text)


def meter(inputs: Inputs, settings: AlarmSettings) -> Iterator[Finding]:
    """The meter is so far behind that its figures are out of date."""
    if inputs.behind_seconds > settings.alarm_meter_seconds:
        seconds = f"{inputs.behind_seconds:.0f} s"
        text = f"the meter is {seconds} behind the topics: its figures are late, no event is lost"
        yield Finding(kind=AlarmKind.METER, subject="meter", text=text)
