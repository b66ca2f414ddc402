"""Inputs for tests of alarms: a healthy side, and the problems it may have."""

from typing import Any

from pipelines.control.observe.alarms.history import History, updated
from pipelines.control.observe.alarms.inputs import Finding, Inputs
from pipelines.control.observe.alarms.rules import evaluate
from pipelines.control.observe.alarms.settings import AlarmSettings
from shared.contracts.alarms import AlarmKind
from shared.contracts.destination_health import DestinationHealth
from shared.contracts.documents import Catalogue, Entry, Pipe, Source
from shared.contracts.scorecard import HopRow, MinuteCard, NamedEvent, Node

MINUTE = 29_000_000
NOW = (MINUTE + 1) * 60_000 + 5_000
"""Five seconds into the minute after MINUTE."""


PUBLISHED = Catalogue(
    {
        each.name.encode(): Entry(version=1, document=each)
        for each in (
            Source(name="web", tenant="shop", write_keys=["long enough"]),
            Pipe(name="orders", tenant="shop", source="web", destination="hook"),
        )
    }
)


def settings(**given: Any) -> AlarmSettings:
    return AlarmSettings(**{"bootstrap": "nowhere:9092"} | given)


def card(minute: int, **given: Any) -> MinuteCard:
    """A good minute of 100 deliveries; arguments replace fields."""
    good = given.setdefault("good", 100)
    total = given.setdefault("total", 100)
    fields = {"tenant": "shop", "settled": True, "delivered": total, "sli": good / total if total else None}
    return MinuteCard(minute=minute, **fields | given)


def cards(*minutes: MinuteCard, tenant: str = "shop") -> dict[str, list[MinuteCard]]:
    return {tenant: sorted(minutes, key=lambda each: each.minute)}


def inputs(*minutes: MinuteCard, **given: object) -> Inputs:
    return Inputs(**{"at_ms": NOW, "cards": cards(*minutes)} | given)  # type: ignore[arg-type]


def lossy(minute: int, lost: int = 1, node: Node = Node.ROUTE, **given: Any) -> MinuteCard:
    """A minute in which a hop lost the first of 100 events, with their ids."""
    named = [NamedEvent(hash=f"{at:016x}", times=1, id=f"id-{at}") for at in range(lost)]
    row = HopRow(node=node, taken=100, given=100 - lost, lost=lost, named=named, look_at=["events/0/10-19"])
    return card(minute, lost=lost, good=100 - lost, hops=[row], **given)


def destination(name: str = "hook", **given: Any) -> DestinationHealth:
    fields: dict[str, Any] = {
        "tenant": "shop",
        "pipes": ["orders"],
        "delivered": 100,
        "failed": 0,
        "waiting": 0,
        "reasons": {},
        "breaker": "closed",
        "lane": "fast",
        "health": "good",
    }
    return DestinationHealth(name=name, **fields | given)


def found(inputs: Inputs, before: History | None = None, **given: Any) -> list[Finding]:
    """The findings of one evaluation of these inputs."""
    how = settings(**given)
    history = updated(before or History(), inputs, how)
    return list(evaluate(inputs, history, PUBLISHED, how).findings)


def kinds(inputs: Inputs, **given: Any) -> list[AlarmKind]:
    return [finding.kind for finding in found(inputs, **given)]
