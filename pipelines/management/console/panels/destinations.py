"""The panel of destinations and their health."""

from pipelines.management.console import formatting
from pipelines.management.console.html import Markup, tag
from pipelines.management.console.panels.base import (
    UNKNOWN,
    amount,
    badge,
    counted,
    empty,
    panel,
    table,
    write,
)
from pipelines.management.console.poller import Snapshot
from shared.contracts.destination_health import DestinationHealth
from shared.contracts.scorecard import ALL_TENANTS

_HEALTH_STYLES = {"good": "kept", "failing": "missed", "down": "far", "idle": "none"}


def destination_table(snapshot: Snapshot) -> Markup:
    """A table with a row for each destination."""
    if not snapshot.now.looked:
        return empty(UNKNOWN)
    if not snapshot.destinations:
        return empty(
            "No destinations yet.",
            tag("p", "Publish a destination and a pipe: ", tag("code", "hifi apply FILE")),
        )
    every = snapshot.view.tenant == ALL_TENANTS
    titles = ["Destination", *(["Tenant"] if every else []), "Health"]
    titles += [amount("Delivered"), amount("Failed tries"), amount("Waiting")]
    titles += ["Why", "Breaker", "Lane", "Pipes"]
    return table("destinations", titles, [_row(each, every) for each in snapshot.destinations])


def _row(each: DestinationHealth, every: bool) -> Markup:
    return tag(
        "tr",
        tag("th", each.name, scope="row"),
        tag("td", each.tenant) if every else None,
        tag("td", badge(each.health, _HEALTH_STYLES.get(each.health, "none")), data_name="health"),
        counted(each.delivered, "delivered"),
        counted(each.failed, "failed", "bad"),
        counted(each.waiting, "waiting"),
        tag("td", _reasons(each.reasons)),
        tag("td", each.breaker or formatting.NONE),
        tag("td", each.lane or formatting.NONE),
        tag("td", ", ".join(each.pipes) or formatting.NONE),
        data_destination=each.name,
    )


def _reasons(reasons: dict[str, int]) -> str:
    most = sorted(reasons.items(), key=lambda each: (-each[1], each[0]))
    counts = (f"{reason}: {formatting.counted(times, 'event')}" for reason, times in most)
    return "; ".join(counts) or formatting.NONE


class Destinations:
    """The panel."""

    def __init__(self) -> None:
        with panel("destinations", "Destinations", "Over the last minutes"):
            self._table = write(Markup())

    def show(self, snapshot: Snapshot) -> None:
        """Update the panel."""
        self._table.content = destination_table(snapshot)
