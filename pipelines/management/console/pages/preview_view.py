"""The result of trying an event on a pipe, as text. Pure."""

from collections.abc import Iterator
from typing import Final

from msgspec import Raw

from pipelines.management.console import formatting
from pipelines.management.console.forms.values import sentence
from pipelines.management.console.html import Markup, joined, tag
from pipelines.management.console.panels.base import badge
from shared.contracts.api_answers.events import NOTHING
from shared.contracts.api_answers.previews import Preview

_SHOWN: Final = 100_000
"""Characters of an event."""

_KEPT, _MISSED, _FAR = "kept", "missed", "far"


def preview_view(found: Preview) -> Markup:
    """The verdict, its facts, and the event as it would leave."""
    verdict, dot = _verdict(found)
    return joined(
        tag("p", badge(verdict, dot), class_="verdict", data_testid="verdict"),
        *_problems(found),
        tag("dl", *(_fact(name, value) for name, value in _facts(found)), class_="letter"),
        *_event(found),
    )


def _verdict(found: Preview) -> tuple[str, str]:
    if found.problem is not None:
        if found.matches and found.destination is not None:
            return "It matches, and would become a dead letter.", _FAR
        return "It would not be sent.", _FAR
    if not found.matches:
        return "The pattern does not match: it would not be sent.", _MISSED
    if not found.sample.taken:
        return "It matches, but its id is not in the sample: it would not be sent.", _MISSED
    return "It matches, and would be sent.", _KEPT


def _problems(found: Preview) -> Iterator[Markup]:
    if found.problem is None:
        return
    said = [sentence(each, each.pointer) for each in found.problem.errors] or [found.problem.detail]
    for text in said:
        yield tag("p", text, class_="said", role="alert", data_testid="try-problem")


def _facts(found: Preview) -> Iterator[tuple[str, str]]:
    unmet = found.unmet
    if unmet is not None:
        yield "Condition that is not met", " · ".join(unmet.path)
        yield "Wanted", _json(unmet.wanted)
        yield "Found", ", ".join(map(_json, unmet.found)) or "nothing"
    if found.destination is not None:
        to = found.destination
        yield "Destination", f"{to.name}: {to.connector} {to.summary}".strip()
    taken = "this id is in it" if found.sample.taken else "this id is not in it"
    yield "Share of the events", f"{found.sample.percent:g} %, {taken}"


def _fact(name: str, value: str) -> Markup:
    return tag("div", tag("dt", name), tag("dd", value))


def _event(found: Preview) -> Iterator[Markup]:
    if found.event == NOTHING:
        return
    yield tag("h3", "The event as it would leave")
    if found.example_hashes:
        yield tag("p", "Hashes are examples: only the destination gets those of your own key.", class_="note")
    text = formatting.beginning(_json(found.event), _SHOWN)
    yield tag("pre", text, class_="event", tabindex=0, data_testid="try-event")


def _json(raw: Raw) -> str:
    return bytes(raw).decode(errors="replace")
