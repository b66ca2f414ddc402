"""The panel of alarms, open ones first."""

from pipelines.management.console import formatting
from pipelines.management.console.html import Markup, joined, tag
from pipelines.management.console.panels.base import badge, empty, panel, write
from pipelines.management.console.poller import Snapshot
from shared.contracts.alarms import Alarm
from shared.contracts.scorecard import ALL_TENANTS

RECENT = 10


def alarm_list(snapshot: Snapshot) -> Markup:
    """Open alarms, and the last resolved ones."""
    opened = sorted(
        (each for each in snapshot.alarms if each.resolved_ms is None), key=lambda each: -each.opened_ms
    )
    closed = [each for each in snapshot.alarms if each.resolved_ms is not None]
    closed.sort(key=lambda each: -(each.resolved_ms or 0))
    return joined(
        tag("ul", *(_alarm(each) for each in opened), class_="alarms", data_testid="open-alarms")
        if opened
        else empty("No alarm is open."),
        tag("h3", "Resolved") if closed else None,
        tag("ul", *(_alarm(each) for each in closed[:RECENT]), class_="alarms resolved") if closed else None,
    )


def _alarm(alarm: Alarm) -> Markup:
    over = alarm.resolved_ms is not None
    state = (
        badge("resolved", "none")
        if over
        else badge("quiet", "missed")
        if alarm.quiet
        else badge("open", "far")
    )
    tenant = "" if alarm.tenant == ALL_TENANTS else f" of {alarm.tenant}"
    subject = f"{alarm.kind.value.replace('_', ' ')}: {alarm.subject}{tenant}"
    return tag(
        "li",
        tag("p", state, tag("b", subject)),
        tag("p", alarm.text),
        tag("p", _times(alarm), class_="note"),
        data_alarm=alarm.id,
        class_="quieted" if alarm.quiet else None,
    )


def _times(alarm: Alarm) -> str:
    parts = [f"since {formatting.moment(alarm.opened_ms)}"]
    if alarm.resolved_ms is not None:
        lasted = formatting.duration((alarm.resolved_ms - alarm.opened_ms) / 1000)
        parts = [f"{formatting.moment(alarm.opened_ms)}, for {lasted}"]
    if alarm.updates:
        parts.append(formatting.counted(alarm.updates, "update"))
    parts.append(f"for the {alarm.audience.value}")
    if alarm.quiet:
        parts.append(f"not sent (quiet window): {alarm.quiet}")
    return " · ".join(parts)


class Alarms:
    """The panel."""

    def __init__(self) -> None:
        with panel("alarms", "Alarms", span=7):
            self._list = write(Markup())

    def show(self, snapshot: Snapshot) -> None:
        """Update the panel."""
        self._list.content = alarm_list(snapshot)
